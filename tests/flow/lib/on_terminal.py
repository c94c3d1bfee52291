# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own: on_terminal.py ROWS COLUMNS COMMAND...

What it shows on standard output goes to standard output, its status is ours.
"""
import fcntl
import os
import pty
import struct
import sys
import termios


def main():
    rows, columns, *command = sys.argv[1:]
    size = struct.pack("HHHH", int(rows), int(columns), 0, 0)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
    pid = os.fork()
    if not pid:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in range(2):
            os.dup2(slave, fd)
        os.execvp(command[0], command)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    _, status = os.waitpid(pid, 0)
    sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
    sys.stdout.flush()
    sys.exit(os.waitstatus_to_exitcode(status))


main()
