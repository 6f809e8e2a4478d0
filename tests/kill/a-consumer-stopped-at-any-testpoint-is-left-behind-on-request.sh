#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

PLAYS_AT_ONCE=8 play a leave 1
