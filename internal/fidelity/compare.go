package fidelity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DriverUID is the uid of the driver pod that the recorder's API server answers with.
const DriverUID = "11111111-2222-4333-8444-555555555555"

// Difference is one field that differs. An absent side is empty.
type Difference struct {
	Case, Role, Version string
	Object, Path        string
	Stock, Ours         string
	Wanted              string // name of the entry of the list of wanted differences; empty: a fault
}

func (d Difference) String() string {
	return fmt.Sprintf("%s-%s, Spark %s: %s %s: stock %s, ours %s", d.Role, d.Case, d.Version, d.Object, d.Path, shown(d.Stock), shown(d.Ours))
}

func shown(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

// Result is the comparison of one case for one version.
type Result struct {
	Case        Case
	Version     string
	Objects     int
	Fields      int
	Differences []Difference
}

// Report is the comparison of all cases.
type Report struct{ Results []Result }

// Run compares all cases with their recordings below folder. Case files are written to a temporary folder.
func Run(folder string) (Report, error) {
	var report Report
	base, err := os.MkdirTemp("", "fidelity-")
	if err != nil {
		return report, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return report, err
	}
	for _, c := range Cases() {
		for _, version := range c.Versions() {
			r, err := Load(folder, c, version)
			if err != nil {
				return report, err
			}
			dir := filepath.Join(base, c.Role+"-"+c.Name+"-"+version)
			result, err := Compare(c, r, dir)
			if err != nil {
				return report, fmt.Errorf("case %s-%s, Spark %s: %w", c.Role, c.Name, version, err)
			}
			report.Results = append(report.Results, result)
		}
	}
	return report, os.RemoveAll(base)
}

// Compare builds the case in the folder dir and compares it with its recording.
func Compare(c Case, r Recording, dir string) (Result, error) {
	out := Result{Case: c, Version: r.Version}
	if err := c.WriteFiles(dir); err != nil {
		return out, err
	}
	release := Case{Files: map[string]string{"home/RELEASE": "Spark " + r.Version + " built\n"}}
	if err := release.WriteFiles(filepath.Join(dir, "version")); err != nil {
		return out, err
	}
	stock, err := recorded(c, r)
	if err != nil {
		return out, err
	}
	var ours built
	if c.Role == Driver {
		ours, err = ownDriver(c, dir)
	} else {
		ours, err = ownExecutors(c, r, dir, stock.objects)
	}
	if err != nil {
		return out, err
	}
	wantedHere := func(d Difference) Difference {
		d.Case, d.Role, d.Version = c.Name, c.Role, r.Version
		d.Wanted = wanted(d)
		return d
	}
	if stock.refusal != "" || ours.refusal != "" {
		out.Fields++
		if !sameRefusal(stock.refusal, ours.refusal) {
			out.Differences = append(out.Differences, wantedHere(Difference{Object: "error", Stock: stock.refusal, Ours: ours.refusal}))
		}
		return out, nil
	}
	s, o := named(c, stock.objects, dir), named(c, ours.objects, dir)
	out.Objects = len(s)
	for _, d := range compare(s, o, &out.Fields) {
		out.Differences = append(out.Differences, wantedHere(d))
	}
	return out, nil
}

// recorded returns stock's objects. One that is written twice, with and without its owner, counts once.
func recorded(c Case, r Recording) (built, error) {
	out := built{refusal: r.Error}
	at := map[string]int{}
	for _, q := range r.Requests {
		o, err := decode(q.Body)
		if err != nil {
			return out, err
		}
		if o["kind"] == nil {
			continue // a patch of an existing object
		}
		meta, _ := o["metadata"].(map[string]any)
		if c.Role == Driver && o["kind"] != "Pod" || o["kind"] == "PersistentVolumeClaim" {
			delete(meta, "ownerReferences") // put on when it is sent
		}
		key := fmt.Sprint(o["kind"], meta["name"])
		if i, twice := at[key]; twice {
			out.objects[i] = o
			continue
		}
		at[key] = len(out.objects)
		out.objects = append(out.objects, o)
	}
	return out, nil
}

func sameRefusal(stock, ours string) bool {
	if stock == "" || ours == "" {
		return false
	}
	_, text, ok := strings.Cut(stock, ": ")
	return ok && strings.Contains(ours, text)
}

// object is a flattened object with what it is called in the report.
type object struct {
	name string
	fields
}

// named flattens one side. Claims come in stock's hash order; here they are sorted by their class.
func named(c Case, objects []map[string]any, dir string) []object {
	counts := map[string]int{}
	hashed := func(name string) bool { return isHashed(c, name) }
	var out []object
	for _, o := range objects {
		out = append(out, object{fmt.Sprint(o["kind"]), flatten(o, hashed)})
	}
	slices.SortStableFunc(out, func(a, b object) int {
		if a.name == b.name && a.name == "PersistentVolumeClaim" {
			return strings.Compare(a.fields["spec.storageClassName"], b.fields["spec.storageClassName"])
		}
		if c.Role == Executor { // they are written side by side
			return strings.Compare(a.name, b.name)
		}
		return 0
	})
	for i := range out {
		counts[out[i].name]++
		if n := counts[out[i].name]; n > 1 {
			out[i].name = fmt.Sprintf("%s %d", out[i].name, n)
		}
		for k, v := range out[i].fields {
			v = strings.ReplaceAll(v, dir, Dir)
			if strings.HasSuffix(k, "[SPARK_LOCAL_DIRS].value") && hasLocalDirVolume(c) {
				v = sortedList(v)
			}
			out[i].fields[k] = v
		}
	}
	all := make([]fields, len(out))
	for i := range out {
		all[i] = out[i].fields
	}
	anonymous(all)
	return out
}

// isHashed says whether an element's place in its list is a hash order in stock.
func isHashed(c Case, name string) bool {
	name, _, _ = strings.Cut(name, "#")
	if strings.HasPrefix(name, "SPARK_JAVA_OPT_") {
		return true
	}
	for k := range c.Conf {
		for _, family := range []string{"Env.", ".secretKeyRef."} {
			if _, own, ok := strings.Cut(k, family); ok && own == name {
				return true
			}
		}
		if _, own, ok := strings.Cut(k, ".secrets."); ok && own+"-volume" == name {
			return true
		}
		if _, own, ok := strings.Cut(k, ".volumes."); ok && strings.Contains(own, "."+name+".mount.path") {
			return true
		}
	}
	return false
}

func hasLocalDirVolume(c Case) bool {
	for k := range c.Conf {
		if strings.Contains(k, ".spark-local-dir-") {
			return true
		}
	}
	return false
}

func sortedList(quoted string) string {
	l := strings.Split(strings.Trim(quoted, `"`), ",")
	slices.Sort(l)
	return strings.Join(l, ",")
}

// compare counts the fields of both sides and returns those that differ.
func compare(stock, ours []object, count *int) []Difference {
	var out []Difference
	order := func(l []object) string {
		var names []string
		for _, o := range l {
			names = append(names, o.name)
		}
		return strings.Join(names, ", ")
	}
	*count++
	if a, b := order(stock), order(ours); a != b {
		out = append(out, Difference{Object: "objects", Path: "order", Stock: a, Ours: b})
	}
	names := map[string][2]fields{}
	for _, o := range stock {
		names[o.name] = [2]fields{o.fields, nil}
	}
	for _, o := range ours {
		names[o.name] = [2]fields{names[o.name][0], o.fields}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s, o := names[name][0], names[name][1]
		paths := maps.Clone(s)
		if paths == nil {
			paths = fields{}
		}
		maps.Copy(paths, o)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			*count++
			if s[path] != o[path] {
				out = append(out, Difference{Object: name, Path: path, Stock: s[path], Ours: o[path]})
			}
		}
	}
	return out
}
