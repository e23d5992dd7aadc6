#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A server between culprit and ClickHouse that fails as it is told.

    fleet_proxy.py PORT TARGET_PORT MODE_FILE LOG [CERTIFICATE]

The first word of MODE_FILE, read at each request, says what happens to it:
    pass        nothing
    error       status 500, as an overloaded server
    busy        the same for the first two of three requests
    redirect    status 302
    html        status 200, and a page that no ClickHouse writes
    cut         the connection ends after half of the request; the server gets none of it
    lose        the server does it, and the answer is lost
    half        half of the answer
    slow        an answer that does not come
    chance SEED one of pass, busy, cut, lose and half, by chance
Each request's path is a line of LOG.
"""
import http.client
import http.server
import random
import socket
import ssl
import sys
import time

PORT, TARGET, MODE, LOG = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0
    chance = None

    def log_message(self, *_):
        pass

    def cut(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # the client was faster
            pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def mode(self):
        with open(MODE, encoding="ascii") as file:
            words = file.read().split()
        if words[0] == "chance":
            if not Proxy.chance:
                Proxy.chance = random.Random(int(words[1]))
            return Proxy.chance.choice(8 * ["pass"] + ["error", "cut", "lose", "half"])
        return words[0]

    def forward(self, body):
        server = http.client.HTTPConnection("127.0.0.1", TARGET)
        names = ("Authorization", "Content-Type")
        server.request("POST", self.path, body,
                       {n: self.headers[n] for n in names if self.headers[n]})
        answer = server.getresponse()
        return answer.status, answer.read()

    def do_POST(self):
        mode = self.mode()
        Proxy.count += 1
        size = int(self.headers["Content-Length"])
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(f"{mode} {self.path}\n")
        if mode == "cut":
            self.rfile.read(size // 2)
            return self.cut()
        body = self.rfile.read(size)
        if mode == "error" or (mode == "busy" and Proxy.count % 3):
            return self.answer(500, b"Code: 252, e.displayText() = DB::Exception: Too many parts\n")
        if mode == "redirect":
            return self.answer(302, b"", [("Location", f"http://127.0.0.1:{TARGET}/")])
        if mode == "html":
            return self.answer(200, b"<html>Log in to use this network</html>\n")
        if mode == "slow":
            time.sleep(60)
            return self.cut()
        try:
            status, answer = self.forward(body)
        except (OSError, http.client.HTTPException):  # the server was killed
            return self.cut()
        if mode == "lose":
            return self.cut()
        if mode == "half":
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer) + 10))
            self.end_headers()
            self.wfile.write(answer[:len(answer) // 2])
            return self.cut()
        return self.answer(status, answer)


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Proxy)
if len(sys.argv) > 5:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[5])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
