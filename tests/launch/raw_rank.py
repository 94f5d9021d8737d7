"""A rank that sends raw PMI-1 messages: each argument is sent unchanged (after Python's escapes are replaced), and the
answers are printed. `@read` reads one line, `@drain` reads until the launcher closes,
`@sleep` waits for ever, `@flood` sends without reading, `@close` closes the connection."""

import os
import socket
import sys
import time

s = socket.socket(fileno=os.dup(int(os.environ['PMI_FD'])))
os.close(int(os.environ['PMI_FD']))
f = s.makefile('rb')
for word in sys.argv[1:]:
    if word == '@read':
        print(f.readline().decode().rstrip('\n'), flush=True)
    elif word == '@drain':
        f.read()
    elif word == '@sleep':
        time.sleep(600)
    elif word == '@close':
        f.close()
        s.close()
    elif word == '@flood':
        while True:
            s.sendall(b'cmd=get_maxes\n' * 100)
    else:
        s.sendall(word.encode('latin-1').decode('unicode_escape').encode('latin-1'))
