package statement

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
)

// field is a field in the struct that Load fills.
type field interface {
	load(c compiled) error
}

func (s *Of[Args]) load(c compiled) error {
	args, err := match(reflect.TypeFor[Args](), c.params)
	if err != nil {
		return err
	}
	*s = Of[Args]{name: c.name, text: c.text, args: args}
	return nil
}

func (b *Bound) load(c compiled) error {
	if len(c.params) > 0 {
		return fmt.Errorf("no argument is given for :%s", strings.Join(c.names(), ", :"))
	}
	*b = Bound{name: c.name, text: c.text}
	return nil
}

// Load fills a struct of statements, each field an Of or a Bound, from a folder's files. rewrite
// adapts the texts, which are written for the default schema, to another schema. The statements may
// contain the folder's fragments, and the fragments in the parameter shared, which several folders
// use. The error lists every wrong file with the reason.
func Load(statements any, files fs.FS, dir string, rewrite func(text string) string, shared ...fs.FS) error {
	names, err := namesIn(files, dir)
	if err != nil {
		return fmt.Errorf("load statements: %w", err)
	}
	from := folder{files: files, path: dir, shared: shared, used: map[string]bool{}, expanded: map[string][]token{}}
	var errs []error
	into := reflect.ValueOf(statements).Elem()
	for i := range into.NumField() {
		called := into.Type().Field(i).Name
		at := slices.IndexFunc(names, func(name string) bool { return folded(name) == folded(called) })
		if at < 0 {
			errs = append(errs, fmt.Errorf("%s has no file for the statement %s", dir, called))
			continue
		}
		name := names[at]
		names = slices.Delete(names, at, at+1)
		c, err := from.compile(name)
		if err == nil {
			c.text = rewrite(c.text)
			err = into.Field(i).Addr().Interface().(field).load(c)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path.Join(dir, name+".sql"), err))
		}
	}
	for _, name := range names {
		errs = append(errs, fmt.Errorf("%s: no statement is read from it", path.Join(dir, name+".sql")))
	}
	errs = append(errs, from.unused()...)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("load statements: %w", err)
	}
	return nil
}

// unused returns an error for each fragment that no statement contains.
func (f folder) unused() []error {
	names, err := namesIn(f.files, path.Join(f.path, fragmentFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []error{err}
	}
	var errs []error
	for _, name := range names {
		if !f.used[name] {
			errs = append(errs, fmt.Errorf("%s: no statement contains it", path.Join(f.path, fragmentFolder, name+".sql")))
		}
	}
	return errs
}

// namesIn returns the names of a folder's SQL files, without the extension.
func namesIn(files fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".sql"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
