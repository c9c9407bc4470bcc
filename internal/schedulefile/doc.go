// Package schedulefile reads schedules.yaml: it turns the text of one or more
// files, which together are one set, into schedule definitions, and finds every
// problem in all of them in one go.
//
// The files are decoded to nodes and walked by hand, so each problem knows the
// file, line and column it is about, and each has a stable code: E… for errors,
// W… for warnings. Nothing unknown is skipped: a field that is misspelt, or that
// only a later version will understand, is an error.
//
// The package reads bytes and returns values. It opens no files, talks to no
// server and never decides whether a definition takes effect. Only if asked to, with
// StrictEnv, it looks whether the variables and files that hold secrets are there.
package schedulefile
