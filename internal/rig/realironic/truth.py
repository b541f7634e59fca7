"""Reads the nodes of Ironic's database every 50 ms, read-only, and prints a line of JSON for
each sample: when it began and ended, and the nodes that are not as in the one before.
A node that is gone has an empty state. What could not be read is an error and no sample."""

import contextlib
import json
import os
import sys
import time

PERIOD = 0.05

with contextlib.suppress(OSError):
    os.nice(-10)  # what it watches may fill the machine

kind, path = sys.argv[1:]
if kind == 'mariadb':
    import pymysql as driver

    db = driver.connect(unix_socket=path, user='root', database='ironic', autocommit=True, read_timeout=1)
else:
    import sqlite3 as driver

    db = driver.connect('file:%s?mode=ro' % path, uri=True, timeout=1, isolation_level=None)
cursor = db.cursor()
last, due = {}, time.monotonic()
while True:
    began = time.time()
    try:
        cursor.execute('SELECT uuid, name, provision_state FROM nodes')
        rows = cursor.fetchall()
    except driver.Error as e:
        line = {'error': str(e)}
    else:
        now = {uuid: (name or '', state or 'available') for uuid, name, state in rows}
        changed = [(u, *now[u]) for u in now if last.get(u) != now[u]]
        changed += [(u, last[u][0], '') for u in last if u not in now]
        line = {'began': began, 'ended': time.time(), 'changes': changed}
        last = now
    print(json.dumps(line), flush=True)
    due = max(due + PERIOD, time.monotonic())
    time.sleep(max(0, due - time.monotonic()))
