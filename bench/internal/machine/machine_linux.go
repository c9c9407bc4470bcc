package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// ticks is how many units of /proc's CPU times make a second; the kernel shows them
// to programs as hundredths on every architecture.
const ticks = 100

// CanMeasure says whether the functions below know anything.
const CanMeasure = true

// Total is the CPU time of the whole machine.
func Total() Busy {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Busy{}
	}
	return parseStat(string(b))
}

// parseStat reads the first line: user, nice, system, idle, iowait, irq, softirq, steal.
func parseStat(text string) Busy {
	line, _, _ := strings.Cut(text, "\n")
	var busy Busy
	for i, word := range strings.Fields(line) {
		n, _ := strconv.ParseFloat(word, 64)
		switch i {
		case 1, 2, 3, 6, 7:
			busy.All += n / ticks
		case 8:
			busy.Steal = n / ticks
		}
	}
	return busy
}

// Process is the CPU time of a process, in seconds.
func Process(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseProcess(string(b))
}

// parseProcess adds user and system time. The name, in parentheses, may hold spaces.
func parseProcess(text string) float64 {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks
}

// Start starts a command that dies with this process, on one core if core is not
// negative.
func Start(cmd *exec.Cmd, core int) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if core < 0 {
		return cmd.Start()
	}
	// A child inherits the placement of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(nth(before, core))
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}

// nth is the number of the nth core, from 0, of those that this process may use.
func nth(allowed unix.CPUSet, n int) int {
	for cpu := range len(allowed) * 64 {
		if allowed.IsSet(cpu) {
			if n == 0 {
				return cpu
			}
			n--
		}
	}
	return 0
}

func cpuModel() string { return procLine("/proc/cpuinfo", "model name") }

func memory() string {
	kb, err := strconv.ParseUint(strings.TrimSuffix(procLine("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return ""
	}
	return humanize.IBytes(kb * 1024)
}

// procLine is what stands behind the first "key:" of a file.
func procLine(file, key string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
