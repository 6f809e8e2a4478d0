#!/bin/bash
# shellcheck source=tests/kill/play.bash
SCENARIO=bridge-scenario.bash
. "${0%/*}/play.bash"

play s kill 1 3
