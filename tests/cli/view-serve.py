# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the server of culprit view must refuse: view-serve.py URL. Prints a line for each that it did not."""
import http.client
import json
import random
import socket
import sys
from urllib.parse import urlsplit

url = urlsplit(sys.argv[1])
port, path = url.port, url.path
token = path.strip("/")
wrong = []


def ask(method="GET", target=path, host=None, **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    if host != "":
        c.putheader("Host", host or f"127.0.0.1:{port}")
    for name, value in headers.items():
        c.putheader(name.replace("_", "-"), value)
    c.endheaders()
    answer = c.getresponse()
    body = answer.read()
    c.close()
    return answer, body


def expect(what, status, *args, **named):
    answer, body = ask(*args, **named)
    if answer.status != status or (status != 200 and len(body) > 100):
        wrong.append(f"{what}: {answer.status}, {len(body)} bytes, not {status}")
    return answer, body


answer, page = expect("the page", 200)
if b"<title>culprit</title>" not in page or answer.getheader("Referrer-Policy") != "no-referrer":
    wrong.append("the page is not the page")
expect("localhost", 200, host=f"localhost:{port}")
expect("HEAD", 200, "HEAD")
expect("POST", 405, "POST")
for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port}.evil.example", f"[::1]:{port}"):
    expect("rebinding by " + host, 403, host=host)
answer, body = ask(host="")  # HTTP/1.1 without a Host is malformed
if answer.status not in (400, 403) or len(body) > 400:
    wrong.append(f"no host: {answer.status}")
expect("another site", 403, Sec_Fetch_Site="cross-site")
expect("a link on this one", 200, Sec_Fetch_Site="none")
for target in ("/", "//", "/" + token, "/" + token[:-1] + "/", "/" + token + "0/", "/" + "0" * 32 + "/", "/" + token[:-1] + "g/",
               path + "../../etc/passwd", path + "%2e%2e/%2e%2e/etc/passwd", path + "..%2f..%2fetc%2fpasswd", "/etc/passwd",
               path + "code/../x", path + "page", path + "code/", path + "\x01".encode("unicode_escape").decode()):
    expect(target, 404, target=target)
for number in ("", "x", "-1", "4294967295", "99999999999999999999", "123456789", "1e1", "0x1", "%00"):
    expect("code of " + number, 404, target=path + "code?f=" + number)
expect("code of nothing", 404, target=path + "code")

# Bytes by chance, and requests that are broken in one place. None may get the page, or end the server.
rng = random.Random(1)
good = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
pieces = [b"GET", b" ", b"/", b"\r\n", b"Host:", b"\x00", b"\xff" * 40, b"%", b"A" * 5000, b"HTTP/9.9", b"Content-Length: -1",
          b"Transfer-Encoding: chunked", b":", b"\n", b"?f=", b"..", b"{", b"127.0.0.1"]
for i in range(int(sys.argv[2])):
    if i % 2:
        data = b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12))) + b"\r\n\r\n"
    else:
        at = good.find(token.encode()) + rng.randrange(len(token))
        data = good[:at] + bytes([rng.choice([b for b in range(256) if b != good[at]])]) + good[at + 1:]
    s = socket.create_connection(("127.0.0.1", port), timeout=20)
    got = b""
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while len(got) < 10000 and (more := s.recv(65536)):
            got += more
    except (ConnectionError, TimeoutError):
        pass
    s.close()
    if b"id=\"profile\"" in got or len(got) > 2000:
        wrong.append(f"malformed {i}: {len(got)} bytes for {data[:80]!r}")
expect("the page after that", 200)
codes = [body for f in range(12) for answer, body in [ask(target=f"{path}code?f={f}")] if answer.status == 200]
if not any(json.loads(body)["code"] for body in codes):
    wrong.append("no function's code can be had")
print("\n".join(wrong[:20]))
sys.exit(bool(wrong))
