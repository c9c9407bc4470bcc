package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/schedulefile"
	"github.com/bide-go/bide/scheduler"
	"github.com/bide-go/bide/worker/bundled"
)

// pollEvery is how often the files are looked at. Polling and comparing contents
// works where watching does not: ConfigMaps, NFS, editors that write a new file.
const pollEvery = 2 * time.Second

func component(o Options, name string) zerolog.Logger {
	return o.Log.With().Str("component", name).Logger()
}

// files keeps the schedules of a scheduler equal to a set of files.
type files struct {
	opts  Options
	sched *scheduler.Scheduler
	hash  [sha256.Size]byte
	none  bool   // the files are not there, which is allowed; the sample stands in
	state string // what is wrong with reading them, said once
	// applied is what this process has applied last.
	applied []scheduler.Definition
	judged  string // what is wrong with the content read last

	mu sync.Mutex
	// amiss is why the content of the files is not in effect, empty if it is.
	amiss string
}

// trouble says why the files are not in effect as they stand, for doctor; empty if
// they are.
func (f *files) trouble() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.amiss
}

// judge notes what is wrong with the content that was read last.
func (f *files) judge(amiss string) {
	f.judged = amiss
	f.note(amiss)
}

func (f *files) note(amiss string) {
	f.mu.Lock()
	f.amiss = amiss
	f.mu.Unlock()
}

func newFiles(o Options, s *scheduler.Scheduler) *files { return &files{opts: o, sched: s} }

// first reads the files at start, where every error is fatal.
func (f *files) first() error {
	sources, hash, err := f.read()
	if len(f.opts.Files) == 0 || errors.Is(err, fs.ErrNotExist) && !f.opts.FilesGiven {
		f.none = true
		if f.opts.Sample == nil {
			return nil
		}
		sources, err = []schedulefile.Source{{Name: "sample", Data: f.opts.Sample}}, nil
	}
	if err != nil {
		return &FileError{fmt.Errorf("schedules file: %w; give another with --file", err)}
	}
	f.hash = hash
	r := f.load(sources)
	if r.Fatal || r.Errors() > 0 {
		return &FileError{errors.New(schedulefile.Summary(r) + "; nothing was applied")}
	}
	if err := f.sched.Replace(r.Definitions, nil); err != nil {
		return &FileError{err}
	}
	f.tell(f.inForce(r))
	return nil
}

// watch applies the files again whenever their content changes, and when asked to.
func (f *files) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		asked := clock.SleepOr(ctx, pollEvery, f.opts.Reload)
		if ctx.Err() == nil {
			f.reload(asked)
		}
	}
	return nil
}

// reload applies changed files. Good entries apply, a bad one keeps its last good
// definition; with a syntax error, nothing changes.
func (f *files) reload(asked bool) {
	log := component(f.opts, "files")
	sources, hash, err := f.read()
	if err != nil || len(sources) == 0 {
		if f.none && !asked {
			return
		}
		state := "unreadable"
		if err == nil {
			err = errors.New("no schedules file")
		}
		if f.state != state || asked {
			log.Error().Err(err).Msg("schedules file cannot be read; what is applied stays")
		}
		f.state = state
		f.note("cannot be read: " + err.Error())
		return
	}
	if hash == f.hash && f.state == "" && !asked {
		return
	}
	f.none = false
	changed := hash != f.hash
	f.hash = hash
	f.state = ""
	if !changed && !asked {
		f.note(f.judged)
		return
	}
	r := f.load(sources)
	if r.Fatal {
		f.judge("refused as a whole: " + schedulefile.Summary(r))
		log.Error().Str("summary", schedulefile.Summary(r)).Msg("schedules file refused; nothing changes")
		return
	}
	if err := f.sched.Replace(r.Definitions, r.Bad); err != nil {
		f.judge("refused as a whole: " + err.Error())
		log.Error().Err(err).Msg("schedules refused; nothing changes")
		return
	}
	f.tell(f.inForce(r))
	if r.Errors() > 0 {
		f.judge("bad entries keep their last good definition: " + strings.Join(r.Bad[:min(len(r.Bad), 10)], ", ") + "; " + schedulefile.Summary(r))
		log.Error().Str("summary", schedulefile.Summary(r)).Strs("schedules", r.Bad).
			Msg("bad entries keep their last good definition; the others apply")
		return
	}
	f.judge("")
	log.Info().Str("summary", schedulefile.Summary(r)).Msg("schedules file read")
}

// inForce lists what is applied after r: a bad entry stays as it was.
func (f *files) inForce(r schedulefile.Result) []scheduler.Definition {
	all := slices.Clone(r.Definitions)
	for _, d := range f.applied {
		if slices.Contains(r.Bad, d.Name) {
			all = append(all, d)
		}
	}
	f.applied = all
	return all
}

func (f *files) tell(definitions []scheduler.Definition) {
	if f.opts.loaded != nil {
		f.opts.loaded(definitions)
	}
}

func (f *files) read() ([]schedulefile.Source, [sha256.Size]byte, error) {
	h := sha256.New()
	var sources []schedulefile.Source
	var hash [sha256.Size]byte
	for _, name := range f.opts.Files {
		data, err := readFile(name)
		if err != nil {
			return nil, hash, err
		}
		fmt.Fprintf(h, "%d %s %d\n", len(name), name, len(data))
		h.Write(data)
		sources = append(sources, schedulefile.Source{Name: name, Data: data})
	}
	h.Sum(hash[:0])
	return sources, hash, nil
}

// readFile reads a schedules file, but not one of endless size; what is over the
// limit is refused by the checker.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory", name)
	}
	return readAtMost(file, 2<<20)
}

// load checks the files and prints what is wrong with them.
func (f *files) load(sources []schedulefile.Source) schedulefile.Result {
	check := CheckOptions()
	check.AllowExec = f.opts.AllowExec
	r := schedulefile.Load(sources, check)
	if f.opts.Problems != nil {
		schedulefile.Print(f.opts.Problems, r.Problems, f.opts.Color)
	}
	return r
}

// CheckOptions is how every command checks schedules files.
func CheckOptions() schedulefile.Options {
	return schedulefile.Options{
		Now:   clock.Now(),
		Later: bundled.Later,
		CheckArgs: func(name string, args json.RawMessage) []schedulefile.ArgProblem {
			var problems []schedulefile.ArgProblem
			for _, p := range bundled.Check(name, args) {
				problems = append(problems, schedulefile.ArgProblem(p))
			}
			return problems
		},
	}
}
