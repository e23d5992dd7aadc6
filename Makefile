# A thin front door to meson and ninja. `make help` lists what there is.
BUILD ?= build
NINJA  = ninja -C $(BUILD)

all: $(BUILD)/build.ninja
	@$(NINJA) --quiet

$(BUILD)/build.ninja:
	@command -v meson >/dev/null && command -v bpftool >/dev/null || dev/deps
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

deps:
	@dev/deps

try: deps all
	@dev/try $(BUILD)

check: all
	@dev/deps --browser
	@dev/run-tests $(BUILD)

bench: deps all
	@bench/run $(BUILD) $(BENCH)

# ACCURACY=--quick: 2 to 3 minutes; ACCURACY=--truth: the exact counts alone.
accuracy: deps all
	@tests/accuracy/deps
	@tests/accuracy/run $(BUILD) $(ACCURACY)

# SUITES=unit,cli,crash: what runs.
coverage: deps
	@dev/coverage $(BUILD) $(SUITES)

# A fleet on this machine: Debian's ClickHouse on loopback, two databases, their reports.
fleet-try: all
	@command -v clickhouse-server >/dev/null || test -x /usr/sbin/clickhouse-server || dev/deps --browser
	@dev/fleet-try $(BUILD)

install: all
	@meson install -C $(BUILD) --no-rebuild

deb: deps
	@dev/deb $(BUILD)/deb

format:
	@git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'fuzz/*.[ch]' | xargs clang-format -i

clean:
	@rm -rf $(BUILD) $(BUILD)-*

help:
	@echo 'make          build in ./$(BUILD)'
	@echo 'make try      install what is missing, build, sample this machine, show what it found'
	@echo 'make fleet-try  push two databases to a ClickHouse of this machine, show the reports of the fleet'
	@echo 'make check    install what is missing, build, run every test'
	@echo 'make bench    speed, as ratios against perf and against the floor (BENCH=--quick: a first impression)'
	@echo 'make accuracy how right the analysis is, against exact counts (ACCURACY=--quick: in 3 minutes)'
	@echo 'make coverage which code the tests run (wants gcovr)'
	@echo 'make install  install (DESTDIR is honoured)'
	@echo 'make deb      a Debian package, in $(BUILD)/deb'
	@echo 'make format   clang-format everything'

.PHONY: all deps try fleet-try check bench accuracy coverage install deb format clean help
