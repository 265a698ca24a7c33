package page

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// Plot is a chart of horizontal bars on a logarithmic axis: a bar is a median, the line on it goes from the smallest value
// to the greatest.
type Plot struct {
	Title string
	Unit  string
	Bars  []Bar
}

// Bar is one contender in one respect.
type Bar struct {
	What, Who string
	result.Summary
}

// Plots makes one plot for each unit in which at least two contenders were measured in one respect.
func Plots(m result.Measurement) []Plot {
	var plots []Plot
	at := map[string]int{}
	for _, s := range m.Series {
		v := result.Summarize(s.Values)
		if rivals(m, s.What) < 2 || v.Median <= 0 {
			continue
		}
		i, ok := at[s.Unit]
		if !ok {
			i = len(plots)
			at[s.Unit] = i
			plots = append(plots, Plot{Title: m.Title, Unit: s.Unit})
		}
		plots[i].Bars = append(plots[i].Bars, Bar{s.What, s.Who, v})
	}
	return plots
}

func rivals(m result.Measurement, what string) (n int) {
	for _, s := range m.Series {
		if s.What == what {
			n++
		}
	}
	return n
}

// The plot's measures in pixels.
const (
	left, right, top, bottom = 320, 110, 40, 40
	barHeight, barGap        = 18, 6
	axis                     = 460
)

var colours = map[string]string{result.Stock: "#c44e52", result.StockBest: "#dd8452", result.Kubespark: "#4c72b0", result.Bare: "#8c8c8c", result.Archived: "#55a868"}

func colour(who string) string {
	if c, ok := colours[who]; ok {
		return c
	}
	return "#55a868"
}

// SVG draws the plot.
func (p Plot) SVG() []byte {
	low, high := p.decades()
	x := func(v float64) float64 {
		return left + axis*(math.Log10(max(v, math.Pow10(low)))-float64(low))/float64(high-low)
	}
	width, height := left+axis+right, top+bottom+len(p.Bars)*(barHeight+barGap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12">`+"\n",
		width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n"+`<text x="10" y="22" font-size="15">%s</text>`+"\n", html.EscapeString(p.Title))
	for d := low; d <= high; d++ {
		at := x(math.Pow10(d))
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%[1]f" y2="%d" stroke="#dddddd"/>`+"\n", at, top, height-bottom)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, height-bottom+16,
			html.EscapeString(strings.TrimSpace(result.Format(math.Pow10(d))+" "+p.Unit)))
	}
	for i, bar := range p.Bars {
		p.bar(&b, bar, float64(top+i*(barHeight+barGap)), x)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func (p Plot) bar(b *strings.Builder, bar Bar, y float64, x func(float64) float64) {
	middle := y + barHeight/2
	fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, middle+4, html.EscapeString(bar.What+", "+bar.Who))
	fmt.Fprintf(b, `<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n", left, y, max(1, x(bar.Median)-left), barHeight, colour(bar.Who))
	if bar.N > 1 && bar.High > bar.Low {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%[2]f" stroke="#222222" stroke-width="2"/>`+"\n", x(bar.Low), middle, x(bar.High))
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text>`+"\n", max(x(bar.Median), x(bar.High))+6, middle+4,
		html.EscapeString(strings.TrimSpace(result.Format(bar.Median)+" "+p.Unit)))
}

// decades are the powers of ten that hold all values.
func (p Plot) decades() (low, high int) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, bar := range p.Bars {
		smallest := bar.Median
		if bar.Low > 0 {
			smallest = bar.Low
		}
		least, most = min(least, smallest), max(most, bar.High)
	}
	if len(p.Bars) == 0 {
		return 0, 1
	}
	low, high = int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	if bar := math.Pow10(low); bar == least { // a bar of no length says nothing
		low--
	}
	return low, max(high, low+1)
}
