#!/bin/bash
# shellcheck source=tests/kill/play.bash
SCENARIO=bridge-scenario.bash
. "${0%/*}/play.bash"

play r kill 1 3
