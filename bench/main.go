// Command bench measures bide beside its peers, and writes what came of it. See
// README.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bide-go/bide/bench/internal/adapter"
	"github.com/bide-go/bide/bench/internal/chart"
	"github.com/bide-go/bide/bench/internal/report"
	"github.com/bide-go/bide/bench/internal/result"
	"github.com/bide-go/bide/bench/internal/runner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	word := ""
	if len(args) > 0 {
		word = args[0]
	}
	switch word {
	case "run":
		return measure(ctx, args[1:], stdout)
	case "report":
		return rewrite(args[1:], stdout)
	case "adapter": // a process of a measurement; the runner starts it
		if len(args) != 2 {
			return errors.New("adapter: which one?")
		}
		return adapter.Main(ctx, args[1], stdin, stdout)
	}
	return fmt.Errorf("usage: bench run|report [flags]; -h after either lists them")
}

func measure(ctx context.Context, args []string, stdout io.Writer) error {
	b := runner.Bench{}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	out := flags.String("out", "", "`directory` of results.json, RESULTS.md and the charts; by default -dir for a full run and -dir/quick for less")
	workloads := flags.String("workloads", "", "only these, by comma: "+strings.Join(runner.Workloads, ","))
	systems := flags.String("systems", "", "only these, by comma: bide,asynq,asynq-1ms,bullmq")
	flags.StringVar(&b.Dir, "dir", ".", "`directory` of this program's sources")
	flags.IntVar(&b.Rounds, "pairs", 3, "rounds in which every system has a turn")
	flags.IntVar(&b.Repeats, "repeats", 2, "how often a disturbed measurement is repeated at most")
	flags.Float64Var(&b.Threshold, "threshold", 0.1, "`cores` that others may use, or the host steal, before a measurement counts as disturbed")
	flags.BoolVar(&b.Smoke, "smoke", false, "everything once with small numbers, only to see that it works; writes nothing unless -out is given")
	flags.StringVar(&b.Command, "command", "", "the `command` that the report says it was made by")
	flags.BoolVar(&b.NeedNode, "need-node", os.Getenv("BIDE_NEED_CLIENTS") != "", "fail if BullMQ cannot run, instead of leaving it out")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("what is %q?", flags.Arg(0))
	}
	b.Workloads, b.Systems = list(*workloads), list(*systems)
	if b.Smoke {
		b.Rounds, b.Repeats = 1, 0
	}
	if b.Command == "" {
		b.Command = strings.Join(append([]string{"bench", "run"}, args...), " ")
	}
	b.Progress = runner.NewProgress(os.Stderr)
	partial := len(b.Workloads) > 0 || len(b.Systems) > 0 || b.Rounds < 3
	if *out == "" && !b.Smoke {
		*out = b.Dir
		if partial {
			*out = filepath.Join(b.Dir, "quick")
		}
	}
	f, err := b.Run(ctx)
	if ctx.Err() != nil || len(f.Runs) == 0 {
		return err
	}
	if *out == "" {
		if err == nil {
			fmt.Fprintf(stdout, "all %d measurements work\n", len(f.Runs))
		}
		return err
	}
	if e := os.MkdirAll(*out, 0o755); e != nil {
		return e
	}
	if e := f.Save(filepath.Join(*out, "results.json")); e != nil {
		return e
	}
	return errors.Join(err, write(f, *out, partial, stdout))
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// rewrite makes report and charts anew from what was measured before.
func rewrite(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	dir := flags.String("out", ".", "`directory` of results.json, RESULTS.md and the charts")
	with := flags.String("with", "", "results.json of a later run of some workloads, as a `file`, to take the place of what is there of them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	path := filepath.Join(*dir, "results.json")
	f, err := result.Load(path)
	if err != nil {
		return err
	}
	if *with != "" {
		later, err := result.Load(*with)
		if err != nil {
			return err
		}
		if err := f.Replace(later); err != nil {
			return err
		}
		if err := f.Save(path); err != nil {
			return err
		}
	}
	return write(f, *dir, false, stdout)
}

func write(f result.File, dir string, show bool, stdout io.Writer) error {
	charts := chart.All(f)
	names := slices.Sorted(maps.Keys(charts))
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(charts[name]), 0o644); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := report.Write(&b, f, names); err != nil {
		return err
	}
	if show {
		fmt.Fprintf(stdout, "%s\n", b.String())
	}
	name := filepath.Join(dir, "RESULTS.md")
	fmt.Fprintf(stdout, "wrote %s\n", name)
	return os.WriteFile(name, b.Bytes(), 0o644)
}
