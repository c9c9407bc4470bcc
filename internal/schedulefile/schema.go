package schedulefile

import (
	_ "embed"
	"slices"
)

// SchemaName is what the file of the JSON Schema is called beside a schedules.yaml.
const SchemaName = "schedules.schema.json"

//go:embed schedules.schema.json
var schema []byte

// Schema returns the JSON Schema (draft-07) of schedules.yaml, for editors. The
// verdict on a file is that of [Load], which knows more than a schema can say.
func Schema() []byte { return slices.Clone(schema) }
