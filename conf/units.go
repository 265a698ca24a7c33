package conf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ByteUnit is the size, in bytes, of what a bare number in a size entry counts.
type ByteUnit int64

// The units that Spark's size entries use.
const (
	Byte ByteUnit = 1
	KiB  ByteUnit = 1 << 10
	MiB  ByteUnit = 1 << 20
	GiB  ByteUnit = 1 << 30
)

// String is the name that Spark's errors use.
func (u ByteUnit) String() string {
	switch u {
	case KiB:
		return "KiB"
	case MiB:
		return "MiB"
	case GiB:
		return "GiB"
	}
	return "BYTE"
}

func (u ByteUnit) short() string {
	if u == Byte {
		return "bytes"
	}
	return u.String()
}

var (
	bytesText    = regexp.MustCompile(`^(-?)([0-9]+)([a-z]*)$`)
	fractionText = regexp.MustCompile(`^([0-9]+\.[0-9]+)([a-z]*)$`)
	timeText     = regexp.MustCompile(`^(-?[0-9]+)([a-z]*)$`)
)

var byteSuffixes = map[string]int64{
	"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50,
}

// ParseBytes reads a size such as 1g, 512m or 100 in the given unit of a bare number, and returns it in that unit, rounded
// down. It answers to JavaUtils.byteStringAs.
func ParseBytes(text string, unit ByteUnit) (int64, error) {
	s := strings.ToLower(javaTrim(text))
	m := bytesText.FindStringSubmatch(s)
	if m == nil {
		if fractionText.MatchString(s) {
			return 0, fmt.Errorf("Fractional values are not supported. Input was: %s", fractionText.FindStringSubmatch(s)[1]) //nolint:staticcheck // Spark's own text
		}
		return 0, fmt.Errorf("%q is not a size such as 512m or 2g", text)
	}
	n, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large for a size", text)
	}
	if m[1] == "-" {
		n = -n
	}
	if m[3] == "" {
		return n, nil
	}
	mult, err := byteMultiplier(m[3])
	if err != nil {
		return 0, err
	}
	return convertBytes(n, mult, int64(unit))
}

func byteMultiplier(suffix string) (int64, error) {
	base := suffix
	if len(suffix) > 1 {
		base = strings.TrimSuffix(strings.TrimSuffix(suffix, "b"), "i")
	}
	mult, ok := byteSuffixes[base]
	if !ok || base == "b" && suffix != "b" {
		return 0, fmt.Errorf("%q is not a size suffix; use b, k, m, g, t or p", suffix)
	}
	return mult, nil
}

func convertBytes(n, from, to int64) (int64, error) {
	if from < to {
		return n / (to / from), nil
	}
	ratio := from / to
	if n > math.MaxInt64/ratio || n < -math.MaxInt64/ratio {
		return 0, fmt.Errorf("%d times %d bytes is too large for a size", n, from)
	}
	return n * ratio, nil
}

var timeSuffixes = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "min": time.Minute,
	"h": time.Hour, "d": 24 * time.Hour,
}

// ParseTime reads a time such as 50s, 100ms or -1; unit is that of a bare number. It answers to JavaUtils.timeStringAs.
// Times beyond Go's range (292 years) are clipped to it.
func ParseTime(text string, unit time.Duration) (time.Duration, error) {
	m := timeText.FindStringSubmatch(strings.ToLower(javaTrim(text)))
	if m == nil {
		return 0, fmt.Errorf("%q is not a time such as 50s, 100ms or 250us", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large for a time", text)
	}
	if m[2] != "" {
		u, ok := timeSuffixes[m[2]]
		if !ok {
			return 0, fmt.Errorf("%q is not a time suffix; use us, ms, s, m, h or d", m[2])
		}
		unit = u
	}
	switch {
	case n > int64(math.MaxInt64/unit):
		return math.MaxInt64, nil
	case n < -int64(math.MaxInt64/unit):
		return math.MinInt64 + 1, nil
	}
	return time.Duration(n) * unit, nil
}

func timeUnitName(unit time.Duration) string {
	switch unit {
	case time.Second:
		return "SECONDS"
	case time.Minute:
		return "MINUTES"
	}
	return "MILLISECONDS"
}

func timeUnitShort(unit time.Duration) string {
	switch unit {
	case time.Second:
		return "s"
	case time.Minute:
		return "min"
	}
	return "ms"
}

// SplitList cuts a comma-separated list, trims the items and drops empty ones: Utils.stringToSeq.
func SplitList(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = javaTrim(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// javaTrim strips characters up to U+0020 from both ends, as String.trim does.
func javaTrim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// ParseDouble reads a number in Java's syntax: a trailing d or f, NaN and Infinity are accepted.
func ParseDouble(text string) (float64, error) {
	s := javaTrim(text)
	switch strings.TrimLeft(s, "+-") {
	case "NaN", "Infinity":
		return strconv.ParseFloat(s, 64)
	}
	if n := len(s); n > 1 && strings.ContainsRune("dDfF", rune(s[n-1])) && (s[n-2] == '.' || s[n-2] >= '0' && s[n-2] <= '9') {
		s = s[:n-1]
	}
	if strings.ContainsAny(s, "_xXiInN") { // Go-only forms
		return 0, fmt.Errorf("%q is not a number", text)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return f, nil
}

// FormatDouble writes a number as Java's Double.toString: always with a fraction, exponents as 1.0E10.
func FormatDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := ""
	if strings.HasPrefix(exponent, "-") {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent, "+-0")
}
