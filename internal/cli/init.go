package cli

import (
	_ "embed" // for the file that init writes
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/bide-go/bide/internal/schedulefile"
)

// starter is the schedules file that init writes.
//
//go:embed init.yaml
var starter []byte

func (p *program) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a commented schedules.yaml and its schema into the current folder",
		Description: "Files that are there already are left alone.",
		Action:      p.init,
	}
}

func (p *program) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the JSON Schema of schedules files, for editors",
		Description: "It is draft-07. The verdict on a file is that of bide check, which knows more than a schema can say.",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			_, err := p.stdout.Write(schedulefile.Schema())
			return err
		},
	}
}

// initReply is the JSON of init.
type initReply struct {
	Items []initItem `json:"items"`
}

type initItem struct {
	File    string `json:"file"`
	Written bool   `json:"written"`
}

func (p *program) init(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	reply := initReply{Items: []initItem{}}
	for _, f := range []struct {
		name string
		data []byte
	}{{defaultFile, starter}, {schedulefile.SchemaName, schedulefile.Schema()}} {
		written, err := writeNew(f.name, f.data)
		if err != nil {
			return &failure{code: exitFailed, err: err, next: "look at the folder's rights and room"}
		}
		if !written {
			p.say("%s is there already and was left alone", f.name)
		}
		reply.Items = append(reply.Items, initItem{f.name, written})
	}
	if p.set.json {
		return p.writeJSON(reply)
	}
	for _, item := range reply.Items {
		if item.Written {
			fmt.Fprintf(p.stdout, "%s written\n", item.File)
		}
	}
	_, err := fmt.Fprint(p.stdout, `next:
  bide check schedules.yaml             every mistake with its line
  bide preview --file schedules.yaml    what runs when
  bide dev                              run it here, on a Redis of its own
  bide apply schedules.yaml             make it the schedules of your Redis
`)
	return err
}

// writeNew writes a file that is not there yet. One that cannot be written whole is
// taken away again.
func writeNew(name string, data []byte) (bool, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(name) // half a file would not be written anew
	}
	return err == nil, err
}
