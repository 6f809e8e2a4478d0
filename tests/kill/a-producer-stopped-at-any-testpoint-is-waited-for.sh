#!/bin/bash
# shellcheck source=tests/kill/play.bash
. "${0%/*}/play.bash"

play p stop 1 3
