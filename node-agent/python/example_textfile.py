#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bring numbers of a REST service and of a database into the agent's textfile folder. Copy it and change the two sources.

    example_textfile.py --out /var/lib/warpwatch/textfile/queue.prom --rest http://127.0.0.1:8000/stats --database jobs.sqlite

Run it from cron or a systemd timer. A source that does not answer leaves its lines out: no reading is not 0, and no word.
"""

import argparse
import contextlib
import json
import os
import sqlite3
import sys
import tempfile
import urllib.request


def label(value):
    """A label's value, escaped."""
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def family(name, kind, help_text, series):
    """All lines of a metric, together. series are pairs of labels and value."""
    lines = ["# HELP %s %s" % (name, help_text), "# TYPE %s %s" % (name, kind)]
    for labels, value in series:
        pairs = ",".join(k + "=" + label(v) for k, v in labels.items())
        lines.append("%s{%s} %s" % (name, pairs, repr(float(value))))
    return lines if series else []


def from_rest(url):
    """A service that answers {"models": [{"name": "llama", "waiting": 3}]}."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        models = json.load(answer)["models"]
    return family("serve_requests_waiting", "gauge", "Requests in the queue.",
                  [({"model": m["name"]}, m["waiting"]) for m in models if m.get("waiting") is not None])


def from_database(path):
    """A table jobs(state, queue). Another database needs its own module in the place of sqlite3, and nothing else."""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=5)) as db:
        rows = db.execute("SELECT queue, state, count(*) FROM jobs GROUP BY queue, state ORDER BY queue, state").fetchall()
    return family("cluster_jobs", "gauge", "Jobs by queue and state.",
                  [({"queue": queue, "state": state}, n) for queue, state, n in rows])


def write_whole(path, text):
    """Replace a file, so that nobody ever reads half of it. The draft lies beside it and is not named *.prom."""
    handle, draft = tempfile.mkstemp(prefix=".draft-", dir=os.path.dirname(os.path.abspath(path)))
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def main():
    parser = argparse.ArgumentParser(description="Write a textfile for the Warpwatch agent.")
    parser.add_argument("--out", required=True)
    parser.add_argument("--rest")
    parser.add_argument("--database")
    options = parser.parse_args()
    lines, failed = [], 0
    for source, read in ((options.rest, from_rest), (options.database, from_database)):
        if source is None:
            continue
        try:
            lines += read(source)
        except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as e:
            print("%s: %s" % (source, e), file=sys.stderr)
            failed = 1
    write_whole(options.out, "\n".join(lines) + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
