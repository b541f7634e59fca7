"""Runs the commands of a Python command-line client that come as JSON lists on
standard input, and tells of each as a JSON object what came of it.

Each command is a process of its own, forked after the import: that takes a second,
which a test of a hundred commands has not got. The argument names the program."""
import importlib
import json
import os
import sys
import tempfile
import traceback

program = sys.argv[1]
module = {'baremetal': 'ironicclient.shell', 'openstack': 'openstackclient.shell'}[program]
main = importlib.import_module(module).main


def run(argv):
    code = 1
    try:
        sys.argv = [program] + argv
        code = main(argv)
    except SystemExit as e:
        code = e.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            run(json.loads(line))
        status = os.waitpid(child, 0)[1]
        out.seek(0)
        err.seek(0)
        print(json.dumps({
            'code': os.waitstatus_to_exitcode(status),
            'out': out.read().decode(), 'err': err.read().decode(),
        }), flush=True)
