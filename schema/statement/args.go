package statement

import (
	"fmt"
	"reflect"
	"strings"
)

// folded is what names are compared by: event_id is the field EventID.
func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// fieldsOf finds the field of a struct for each parameter. Both must have the
// same names; the fields of embedded structs count as its own.
func fieldsOf(args reflect.Type, params []string) ([][]int, error) {
	if args.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", args)
	}
	wanted := make(map[string]int, len(params))
	for i, param := range params {
		if twin, double := wanted[folded(param)]; double {
			return nil, fmt.Errorf(":%s and :%s are the same field", params[twin], param)
		}
		wanted[folded(param)] = i
	}
	found := make([][]int, len(params))
	var faults []string
	for _, field := range reflect.VisibleFields(args) {
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			continue
		}
		i, ok := wanted[folded(field.Name)]
		switch {
		case !ok:
			faults = append(faults, "no parameter is the field "+field.Name)
		case !field.IsExported():
			return nil, fmt.Errorf("field %s of %s is not exported", field.Name, args)
		default:
			found[i] = field.Index
		}
	}
	for i, param := range params {
		if found[i] == nil {
			faults = append(faults, "no field is the parameter :"+param)
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %s", args, strings.Join(faults, ", "))
	}
	return found, nil
}
