#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The current ClickHouse behind HTTP, as much of it as culprit uses: chdb is ClickHouse as a library.

    fleet_chdb.py LIBRARY PORT FOLDER
"""
import ctypes
import http.server
import sys
import urllib.parse

lib = ctypes.CDLL(sys.argv[1])
lib.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
lib.chdb_connect.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
lib.chdb_query_n.restype = ctypes.c_void_p
lib.chdb_query_n.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                             ctypes.c_size_t]
lib.chdb_result_buffer.restype = ctypes.c_void_p
lib.chdb_result_buffer.argtypes = [ctypes.c_void_p]
lib.chdb_result_length.restype = ctypes.c_size_t
lib.chdb_result_length.argtypes = [ctypes.c_void_p]
lib.chdb_result_error.restype = ctypes.c_char_p
lib.chdb_result_error.argtypes = [ctypes.c_void_p]
lib.chdb_destroy_query_result.argtypes = [ctypes.c_void_p]
words = (ctypes.c_char_p * 2)(b"clickhouse", b"--path=" + sys.argv[3].encode())
connection = lib.chdb_connect(2, words)


def query(sql):
    """What a statement answers, or None and its error."""
    result = lib.chdb_query_n(connection[0], sql, len(sql), b"TabSeparated", 12)
    error = lib.chdb_result_error(result)
    size = lib.chdb_result_length(result)
    answer = ctypes.string_at(lib.chdb_result_buffer(result), size) if size else b""
    lib.chdb_destroy_query_result(result)
    return (None, error) if error else (answer, None)


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(200, b"Ok.\n")

    def do_POST(self):
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "query" in asked:
            body = asked["query"][0].encode() + b"\n" + body
        for setting in ("max_query_size", "max_ast_elements", "max_expanded_ast_elements"):
            if setting in asked:
                query(f"SET {setting} = {int(asked[setting][0])}".encode())
        answer, error = query(b"USE " + asked.get("database", ["default"])[0].encode())
        if not error:
            answer, error = query(body)
        self.reply(500 if error else 200, error or answer)


http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Server).serve_forever()
