package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// confCobra explains Spark's properties from the handles that read them.
func confCobra(p Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "conf",
		Short:   "List and explain the Spark properties that kubespark reads",
		GroupID: groupOther,
		Args:    args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := &confFlags{p: p}
	cmd.PersistentFlags().StringVar(&f.version, "spark-version", "", "Spark version whose defaults are shown (default: that of SPARK_HOME, else "+conf.DefaultVersion.String()+")")
	list := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List all properties, or those whose name holds a text",
		Args:  args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			return f.list(cmd.OutOrStdout(), strings.Join(list, ""))
		},
	}
	list.Flags().StringVarP(&f.output, "output", "o", "", "json for a list of objects")
	cmd.AddCommand(list, &cobra.Command{
		Use:   "explain KEY",
		Short: "Say all that is known of a property",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			return f.explain(cmd.OutOrStdout(), list[0])
		},
	})
	return cmd
}

type confFlags struct {
	p               Process
	version, output string
}

// property is what is shown of a key; the names are those of -o json.
type property struct {
	Key      string   `json:"key"`
	Type     string   `json:"type"`
	Unit     string   `json:"unit,omitempty"`
	Default  string   `json:"default,omitempty"`
	Fallback string   `json:"fallback,omitempty"`
	Values   []string `json:"values,omitempty"`
	Check    string   `json:"check,omitempty"`
	Since    string   `json:"since,omitempty"`
	OldNames []string `json:"oldNames,omitempty"`
	ReadBy   string   `json:"readBy,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	Doc      string   `json:"doc"`
}

// properties are all handles and families, sorted by key.
func properties(v conf.Version) []property {
	var all []property
	for _, k := range conf.SortedKeys() {
		d, _ := k.DefaultText(v)
		d = readable(k.TypeName(), d)
		if k.FallbackKey() != "" {
			d = ""
		}
		all = append(all, property{Key: k.Key(), Type: k.TypeName(), Unit: k.Unit(), Default: d, Fallback: k.FallbackKey(), Values: k.Values(),
			Check: k.Check(), Since: k.Since(), OldNames: k.OldNames(), ReadBy: readBy(k.Key()), Secret: k.IsSecret(), Doc: k.Doc()})
	}
	for _, f := range conf.Families() {
		all = append(all, property{Key: f.Pattern, Type: "string", Since: f.Since, ReadBy: readBy(f.Pattern), Doc: f.Doc})
	}
	slices.SortFunc(all, func(a, b property) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// readable writes a default as a person would: Spark has all times in milliseconds and all sizes in bytes.
func readable(typeName, text string) string {
	type unit struct {
		size int64
		name string
	}
	units, suffix := []unit{{86_400_000, "d"}, {3_600_000, "h"}, {60_000, "min"}, {1000, "s"}}, "ms"
	if strings.HasPrefix(typeName, "bytes") {
		units, suffix = []unit{{1 << 40, "t"}, {1 << 30, "g"}, {1 << 20, "m"}, {1 << 10, "k"}}, "b"
	} else if !strings.HasPrefix(typeName, "time") {
		return text
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, suffix), 10, 64)
	if err != nil || n == 0 {
		return text
	}
	for _, u := range units {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return text
}

// readBy names the readers of a key; ours are read by kubespark alone.
func readBy(key string) string {
	if by := conf.ReadBy(key); by != "" {
		return by
	}
	return "kubespark"
}

func (f *confFlags) sparkVersion() (conf.Version, error) {
	props := map[string]string{}
	if f.version != "" {
		props[conf.SparkVersion.Key()] = f.version
	}
	return submit.SparkVersion(props, f.p.env(f.p.Environ))
}

func (f *confFlags) list(out io.Writer, text string) error {
	v, err := f.sparkVersion()
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(properties(v), func(p property) bool { return !strings.Contains(strings.ToLower(p.Key), strings.ToLower(text)) })
	switch f.output {
	case "json":
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(list)
	case "":
	default:
		return &usageError{fmt.Errorf("--output %s is not known: json, or nothing for a table", f.output)}
	}
	if len(list) == 0 {
		say(f.p.Stderr, "No property holds %q.", text)
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "KEY\tDEFAULT\tTYPE\tSINCE\tREAD BY") // Flush tells of errors
	for _, p := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Key, p.defaultText(), p.Type, orDash(p.Since), p.ReadBy)
	}
	return w.Flush()
}

// defaultText is the default, or where it comes from.
func (p property) defaultText() string {
	switch {
	case p.Default != "":
		return p.Default
	case p.Fallback != "":
		return "= " + p.Fallback
	}
	return "-"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (f *confFlags) explain(out io.Writer, key string) error {
	v, err := f.sparkVersion()
	if err != nil {
		return err
	}
	all := properties(v)
	i := slices.IndexFunc(all, func(p property) bool { return p.Key == key || slices.Contains(p.OldNames, key) })
	if i < 0 {
		family, ok := conf.FamilyOf(key)
		if !ok {
			return fmt.Errorf("kubespark reads no property %s%s", key, suggestion(all, key))
		}
		i = slices.IndexFunc(all, func(p property) bool { return p.Key == family.Pattern })
	}
	text, err := f.explanation(all[i], key, v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

func (f *confFlags) explanation(p property, key string, v conf.Version) (string, error) {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name+":", text)
		}
	}
	line("KEY", p.Key)
	kind := p.Type
	if p.Unit != "" {
		kind += "; a bare number is in " + p.Unit
	}
	line("TYPE", kind)
	line("DEFAULT", p.defaultText()+" (Spark "+v.String()+")")
	line("VALUES", strings.Join(p.Values, ", "))
	line("CHECK", p.Check)
	line("SINCE", p.Since)
	line("OLD NAME", strings.Join(p.OldNames, ", "))
	line("READ BY", p.ReadBy)
	if p.Secret {
		line("SHOWN", "never: it is a secret")
	}
	value, err := f.fromDefaults(key)
	if err != nil {
		return "", err
	}
	line("SET TO", value)
	b.WriteString("\n" + p.Doc + "\n")
	return b.String(), nil
}

// fromDefaults is the value of a key in spark-defaults.conf, with its place; secrets are covered.
func (f *confFlags) fromDefaults(key string) (string, error) {
	s, err := submit.Resolve(submit.Args{}, f.p.env(f.p.Environ))
	if err != nil {
		return "", err
	}
	if _, ok := s.Props[key]; !ok {
		return "", nil
	}
	shown, err := conf.New(s.Props).Redact()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (spark-defaults.conf in %s)", shown[key], s.ConfDir), nil
}

// suggestion names the keys that look like a mistyped one.
func suggestion(all []property, key string) string {
	words := strings.Split(strings.ToLower(key), ".")
	last := words[len(words)-1]
	var near []string
	for _, p := range all {
		if k := strings.ToLower(p.Key); last != "" && strings.HasSuffix(k, last) || distance(k, strings.ToLower(key)) <= 3 {
			near = append(near, p.Key)
		}
	}
	if len(near) == 0 {
		return ": see kubespark conf list"
	}
	return ": did you mean " + strings.Join(near[:min(3, len(near))], ", ") + "?"
}

// distance is the number of letters to change, add or leave out to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := left
			if a[i] != b[j] {
				change++
			}
			left = row[j+1]
			row[j+1] = min(change, row[j]+1, left+1)
		}
	}
	return row[len(b)]
}
