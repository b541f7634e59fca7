#!/bin/sh
# gotestsum calls this after a run. It adds how many tests ran, failed and were skipped to the file TEST_TALLY,
# where there is one, and fails when none ran: a -run that fits no test is a mistake.
set -eu
failed=$((TESTS_FAILED + TESTS_ERRORS))
[ -z "${TEST_TALLY:-}" ] || echo "$TESTS_TOTAL $failed $TESTS_SKIPPED" >>"$TEST_TALLY"
[ $((TESTS_TOTAL + failed)) -gt 0 ] || { echo "no test ran" >&2; exit 1; }
