package sparkpod

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// conform fits a JSON tree, which it may change, to a type of the API: numbers and booleans where the API has text become
// text (asWritten: in the digits of the template), and empty maps and lists of known fields are dropped. Unknown fields stay as they are.
func conform(v any, t reflect.Type, asWritten bool) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return v
	}
	switch t.Kind() {
	case reflect.String:
		return textOf(v, asWritten)
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for k, e := range m {
				m[k] = conform(e, t.Elem(), asWritten)
			}
		}
	case reflect.Slice:
		if l, ok := v.([]any); ok {
			for i, e := range l {
				l[i] = conform(e, t.Elem(), asWritten)
			}
		}
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			conformFields(m, t, asWritten)
		}
	}
	return v
}

func conformFields(m map[string]any, t reflect.Type, asWritten bool) {
	for k, e := range m {
		f, ok := fieldOf(t, k)
		if !ok {
			continue
		}
		collection := f.Kind() == reflect.Map || f.Kind() == reflect.Slice
		if size := sizeOf(e); collection && size == 0 {
			delete(m, k)
			continue
		}
		m[k] = conform(e, f, asWritten)
	}
}

// fieldOf finds a field by its name in JSON, in embedded structs too.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type, true
		}
		if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			if ft, ok := fieldOf(f.Type, name); ok {
				return ft, true
			}
		}
	}
	return nil, false
}

// sizeOf returns the length of a map or list, -1 for other values.
func sizeOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return -1
}

// textOf writes a number or boolean as a JVM does: a fraction out of YAML has been a double.
func textOf(v any, asWritten bool) any {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if !asWritten && strings.ContainsAny(v.String(), ".eE") {
			if f, err := v.Float64(); err == nil {
				return conf.FormatDouble(f)
			}
		}
		return v.String()
	}
	return v
}
