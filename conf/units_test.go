package conf

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseBytes(t *testing.T) {
	tests := []struct {
		text string
		unit ByteUnit
		want int64
		err  string
	}{
		{text: "1g", unit: MiB, want: 1024},
		{text: "1G", unit: MiB, want: 1024},
		{text: " 1gb ", unit: MiB, want: 1024},
		{text: "1gib", unit: MiB, want: 1024},
		{text: "2ti", unit: GiB, want: 2048},
		{text: "1023k", unit: MiB, want: 0},
		{text: "1537k", unit: MiB, want: 1},
		{text: "700", unit: MiB, want: 700},
		{text: "700", unit: Byte, want: 700},
		{text: "700b", unit: KiB, want: 0},
		{text: "-1g", unit: MiB, want: -1024},
		{text: "1p", unit: Byte, want: 1 << 50},
		{text: "1.5g", unit: MiB, err: "Fractional values are not supported. Input was: 1.5"},
		{text: "", unit: MiB, err: `"" is not a size such as 512m or 2g`},
		{text: "1 g", unit: MiB, err: `"1 g" is not a size such as 512m or 2g`},
		{text: "1x", unit: MiB, err: `"x" is not a size suffix; use b, k, m, g, t or p`},
		{text: "1ib", unit: MiB, err: `"ib" is not a size suffix; use b, k, m, g, t or p`},
		{text: "1bb", unit: MiB, err: `"bb" is not a size suffix; use b, k, m, g, t or p`},
		{text: "99999999999999999999", unit: MiB, err: `"99999999999999999999" is too large for a size`},
		{text: "9000000000p", unit: Byte, err: "9000000000 times 1125899906842624 bytes is too large for a size"},
	}
	for _, tt := range tests {
		got, err := ParseBytes(tt.text, tt.unit)
		if errText(err) != tt.err || got != tt.want {
			t.Errorf("ParseBytes(%q, %s) = %d, %q; want %d, %q", tt.text, tt.unit, got, errText(err), tt.want, tt.err)
		}
	}
}

func TestParseTime(t *testing.T) {
	tests := []struct {
		text string
		unit time.Duration
		want time.Duration
		err  string
	}{
		{text: "50s", unit: time.Millisecond, want: 50 * time.Second},
		{text: "50", unit: time.Millisecond, want: 50 * time.Millisecond},
		{text: "50", unit: time.Second, want: 50 * time.Second},
		{text: " 2MIN ", unit: time.Second, want: 2 * time.Minute},
		{text: "2m", unit: time.Second, want: 2 * time.Minute},
		{text: "1d", unit: time.Second, want: 24 * time.Hour},
		{text: "250us", unit: time.Second, want: 250 * time.Microsecond},
		{text: "-1", unit: time.Second, want: -time.Second},
		{text: "9999999999d", unit: time.Second, want: math.MaxInt64},
		{text: "-9999999999d", unit: time.Second, want: math.MinInt64 + 1},
		{text: "1.5s", unit: time.Second, err: `"1.5s" is not a time such as 50s, 100ms or 250us`},
		{text: "1 s", unit: time.Second, err: `"1 s" is not a time such as 50s, 100ms or 250us`},
		{text: "1w", unit: time.Second, err: `"w" is not a time suffix; use us, ms, s, m, h or d`},
	}
	for _, tt := range tests {
		got, err := ParseTime(tt.text, tt.unit)
		if errText(err) != tt.err || got != tt.want {
			t.Errorf("ParseTime(%q, %s) = %s, %q; want %s, %q", tt.text, tt.unit, got, errText(err), tt.want, tt.err)
		}
	}
}

func TestDoubles(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0.0", "0.1": "0.1", "0.10d": "0.1", "1e-1": "0.1", "1": "1.0", "1e7": "1.0E7", "12345678.5": "1.23456785E7",
		"0.0001": "1.0E-4", "1e400": "Infinity", "-0.5f": "-0.5", "NaN": "NaN", "-Infinity": "-Infinity", " 0.4 ": "0.4", "9999999": "9999999.0",
	} {
		f, err := ParseDouble(text)
		if got := FormatDouble(f); err != nil || got != want {
			t.Errorf("ParseDouble(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "0x1p3", "1_000", "inf", "1.5g", "d"} {
		if f, err := ParseDouble(text); err == nil {
			t.Errorf("ParseDouble(%q) = %v, want an error", text, f)
		}
	}
}

func TestSplitList(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b c"}, SplitList(" a ,, b c\t,")); diff != "" {
		t.Error(diff)
	}
	if got := SplitList(""); got != nil {
		t.Errorf("SplitList of nothing = %q", got)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
