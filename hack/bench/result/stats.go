package result

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Summary is what a table shows of a series.
type Summary struct {
	N                    int
	Median, Low, High    float64 // the middle value, the smallest and the greatest
	Quartile1, Quartile3 float64
}

// Summarize returns the zero Summary for no values.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	return Summary{N: len(values), Median: Quantile(values, 0.5), Low: slices.Min(values), High: slices.Max(values),
		Quartile1: Quantile(values, 0.25), Quartile3: Quantile(values, 0.75)}
}

// Median is the middle value, NaN for none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile is the value below which the share q of the values lies, from 0 to 1, with linear steps between neighbours
// (R's type 7). It is NaN for no values.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	at := q * float64(len(v)-1)
	low := int(math.Floor(at))
	if low+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[low] + (at-float64(low))*(v[low+1]-v[low])
}

// FromGreatest names the values of a map from the greatest down; equal ones by name.
func FromGreatest(values map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b))
	})
}

// Ratio of two medians; ok is false when either is missing or the second is zero.
func Ratio(a, b []float64) (r float64, ok bool) {
	if len(a) == 0 || len(b) == 0 || Median(b) == 0 {
		return 0, false
	}
	return Median(a) / Median(b), true
}
