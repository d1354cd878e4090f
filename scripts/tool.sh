#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a tool of Go's, a compiler or linker, where processors are short and memory is not: it
# collects no garbage, keeps to one processor, as others run beside it, and describes nothing for
# debuggers, which the linker leaves out of releases and tests anyway. Compiling bus takes
# 2.6 s of a processor, and 3.9 s with Go's own settings.
#   GOFLAGS=-toolexec=$PWD/scripts/tool.sh go build ./...
export GOGC=off GOMEMLIMIT=2GiB GOMAXPROCS=1
tool=$1
shift
case ${tool##*/}:$* in
# What the go command takes for the version keeps in its cache apart what is compiled in this way.
compile:*-V=full*) version=$("$tool" "$@") && echo "$version without DWARF" ;;
compile:*) exec "$tool" -dwarf=false "$@" ;;
*) exec "$tool" "$@" ;;
esac
