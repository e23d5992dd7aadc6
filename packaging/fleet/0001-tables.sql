-- The tables of a fleet. doc/fleet.md says what they hold and why they look like this.
--
-- Each statement makes one table. `culprit fleet init` puts the database's name before the table's, for
-- replicas Replicated before the engine's, and makes a Distributed table of each, which sends a row to
-- a shard by what the line before the statement says.
--
-- A row that is sent again replaces itself, whatever the order: data have as version the number of the
-- flush up to which they count, names are of their content, by which they are numbered.

-- shard: epoch
CREATE TABLE IF NOT EXISTS epochs
(
	day Date, machine UInt64, epoch UInt64, name String,
	start_ns UInt64, end_ns UInt64, samples UInt64, sealed UInt8, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (machine, epoch);

-- shard: epoch
CREATE TABLE IF NOT EXISTS samples
(
	day Date, image UInt64, event UInt64, epoch UInt64, subject UInt64, off UInt64,
	cnt UInt64, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (image, event, epoch, subject, off);

-- shard: epoch
CREATE TABLE IF NOT EXISTS functions
(
	day Date, image UInt64, fn UInt64, event UInt64, epoch UInt64, subject UInt64,
	cnt UInt64, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (image, fn, event, epoch, subject);

-- shard: epoch
CREATE TABLE IF NOT EXISTS stacks
(
	day Date, event UInt64, epoch UInt64, subject UInt64, stack FixedString(16),
	cnt UInt64, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (event, epoch, subject, stack);

-- shard: epoch
CREATE TABLE IF NOT EXISTS edges
(
	day Date, image UInt64, event UInt64, epoch UInt64, evidence UInt8, from_off UInt64,
	to_image UInt64, to_off UInt64, cnt UInt64, windows UInt64, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day
ORDER BY (image, event, epoch, evidence, from_off, to_image, to_off);

-- shard: epoch
CREATE TABLE IF NOT EXISTS chunks
(
	day Date, epoch UInt64, kind UInt32, number UInt32,
	chunk String, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (epoch, kind, number);

-- shard: epoch
CREATE TABLE IF NOT EXISTS counters
(
	day Date, epoch UInt64, event UInt64, name String, value UInt64, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (epoch, event, name);

-- shard: epoch
CREATE TABLE IF NOT EXISTS facts
(
	day Date, epoch UInt64, name String, value String, ver UInt64
)
ENGINE = ReplacingMergeTree(ver) PARTITION BY day ORDER BY (epoch, name);

-- shard: machine
CREATE TABLE IF NOT EXISTS machines
(
	machine UInt64, name String, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY machine;

-- shard: event
CREATE TABLE IF NOT EXISTS events
(
	event UInt64, name String, period UInt64, flags UInt32, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY event;

-- shard: subject
CREATE TABLE IF NOT EXISTS subjects
(
	subject UInt64, pairs String, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY subject;

-- shard: image
CREATE TABLE IF NOT EXISTS images
(
	image UInt64, id String, path String, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY (image, path);

-- shard: image
CREATE TABLE IF NOT EXISTS names
(
	image UInt64, fn UInt64, name String, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY (image, fn);

-- shard: image
CREATE TABLE IF NOT EXISTS blobs
(
	image UInt64, kind String, packed String, day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY (image, kind);

-- shard: reinterpretAsUInt64(stack)
CREATE TABLE IF NOT EXISTS frames
(
	stack FixedString(16), images Array(UInt64), offs Array(UInt64), day Date
)
ENGINE = ReplacingMergeTree(day) ORDER BY stack;
