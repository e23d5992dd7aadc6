-- Columns that ascend are kept as differences.
-- needs: 20.1

ALTER TABLE samples MODIFY COLUMN off UInt64 CODEC(Delta(8), ZSTD(3));

ALTER TABLE samples MODIFY COLUMN cnt UInt64 CODEC(T64, ZSTD(3));

ALTER TABLE samples MODIFY COLUMN ver UInt64 CODEC(ZSTD(3));

ALTER TABLE functions MODIFY COLUMN fn UInt64 CODEC(Delta(8), ZSTD(3));

ALTER TABLE functions MODIFY COLUMN epoch UInt64 CODEC(ZSTD(3));

ALTER TABLE functions MODIFY COLUMN subject UInt64 CODEC(ZSTD(3));

ALTER TABLE functions MODIFY COLUMN cnt UInt64 CODEC(T64, ZSTD(3));

ALTER TABLE functions MODIFY COLUMN ver UInt64 CODEC(ZSTD(3));
