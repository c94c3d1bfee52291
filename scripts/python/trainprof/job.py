# SPDX-License-Identifier: Apache-2.0
"""A child that cannot tell us from its shell: signals, stops, the way it ends.

The child stays in our process group, so the terminal, and whoever sends a signal to the group, reach it
without us. A signal that was sent to us alone is passed on. Which of both happened is known from a
witness: a process of the same group that blocks all signals and does nothing. What it got, too, went
to the group.
"""

import ctypes
import errno
import os
import resource
import shutil
import signal
import time

from .say import say

CANNOT_RUN, CANNOT_FIND = 126, 127  # exit statuses, those of shells

_ALL = signal.valid_signals()
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_PR_SET_PDEATHSIG = 1
# Whoever signals all processes of a job one after the other (Slurm, pkill) has reached the witness then.
_WITNESS_SECONDS = 0.05


def restore_signals():
    """What Python has changed at its start: SIGPIPE, SIGXFSZ, SIGINT."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def become(command, environment):
    """Runs the command in this process, as a shell would; comes back only to end with its status."""
    restore_signals()
    try:
        try:
            os.execvpe(command[0], command, environment)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            path = shutil.which(command[0], path=environment.get("PATH"))
            os.execve("/bin/sh", ["sh", path or command[0]] + command[1:], environment)
    except OSError as error:
        say("cannot run '%s': %s" % (command[0], error.strerror))
        os._exit(CANNOT_FIND if isinstance(error, FileNotFoundError) else CANNOT_RUN)


class _Witness:
    """Which signals the process group was sent."""

    def __init__(self):
        from_us, self._ask = os.pipe()
        self._answer, to_us = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._ask)
            self._stand(from_us, to_us)
        os.close(from_us)
        os.close(to_us)
        self._seen = set()

    @staticmethod
    def _stand(from_us, to_us):
        # The end of the pipe is the end of whom we serve.
        while os.read(from_us, 1):
            seen = []
            while len(seen) < 100:
                info = signal.sigtimedwait(_ALL, 0)
                if not info:
                    break
                seen.append(info.si_signo)
            os.write(to_us, bytes([len(seen)] + seen))
        os._exit(0)

    def has_seen(self, number):
        """Was this signal sent to the group? Asked once for each."""
        time.sleep(_WITNESS_SECONDS)
        try:
            os.write(self._ask, b"?")
            answer = os.read(self._answer, 256)
        except OSError:
            answer = b""
        self._seen.update(answer[1:])
        was_seen = number in self._seen
        self._seen.discard(number)
        return was_seen

    def dismiss(self):
        os.close(self._ask)
        os.close(self._answer)
        os.waitpid(self._pid, 0)


class Keeper:
    """Starts children one after the other and waits for them. Signals are blocked from here on."""

    def __init__(self):
        self._libc = ctypes.CDLL(None)
        self._on_child = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
        self._witness = _Witness()

    def run(self, command, environment, prepare=None):
        """Runs it to its end; returns its wait status. prepare() is called in the child."""
        keeper = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                # Dead by SIGKILL, we cannot pass that on.
                self._libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
                if prepare:
                    prepare()
                signal.signal(signal.SIGCHLD, self._on_child)
                restore_signals()
                signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
                if os.getppid() == keeper:
                    become(command, environment)
            finally:
                os._exit(CANNOT_RUN)
        return self._wait(pid)

    def _wait(self, pid):
        stops, stopped = set(), None
        while True:
            number = signal.sigwaitinfo(_ALL).si_signo
            if number == signal.SIGCHLD:
                changed, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
                if not changed:
                    continue
                if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                    return status
                stopped = os.WSTOPSIG(status) if os.WIFSTOPPED(status) else None
            else:
                if number in _STOPS:
                    stops.add(number)
                self._pass_on(pid, number)
            # As the shell sees it, we are the job: it stops when the child did by what we got, too.
            if stopped in stops:
                stops, stopped = set(), None
                os.kill(os.getpid(), signal.SIGSTOP)

    def _pass_on(self, pid, number):
        was_sent_to_all = self._witness.has_seen(number)
        # Twice within that time is once, as it is for a process that has not got to it yet.
        while signal.sigtimedwait({number}, 0):
            pass
        if not was_sent_to_all:
            try:
                os.kill(pid, number)
            except PermissionError:
                pass  # became another user's: sudo

    def end_as(self, status):
        """Ends this process the way the child ended."""
        self._witness.dismiss()
        if os.WIFEXITED(status):
            os._exit(os.WEXITSTATUS(status))
        # The core that may be there is the child's.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os._exit(128 + number)
