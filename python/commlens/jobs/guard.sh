#!/bin/sh
# The guard of a job: its standard input ends when the command does, however that happens. Then all
# processes that have the mark in their environment are asked to end; those that do not are killed.
# shellcheck disable=SC2034,SC2046 # words: process numbers
mark=$1
marked() {
  grep -ls -- "$mark" /proc/[0-9]*/environ | tr -dc '0-9\n'
}
read -r _
kill -TERM $(marked)
for second in 1 2 3; do
  [ -n "$(marked)" ] || exit
  sleep 1
done
kill -KILL $(marked)
