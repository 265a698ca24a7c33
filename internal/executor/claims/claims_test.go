package claims

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const gi = 1 << 30

var t0 = time.Unix(10_000, 0)

func claim(name string, size int64, edit ...func(*Claim)) Claim {
	c := Claim{Name: name, Class: "gp2", Size: size, Modes: []string{"ReadWriteOncePod"}, Created: t0.Add(-time.Hour)}
	for _, e := range edit {
		e(&c)
	}
	return c
}

// E162, E163, E167, E171, E179, E180: which free claim an executor gets.
func TestMatch(t *testing.T) {
	want := claim("own", 200*gi)
	young := func(c *Claim) { c.Created = t0 }
	for _, tc := range []struct {
		name   string
		set    Settings
		listed []Claim
		driver []string
		want   string
	}{
		{"a free one E162", Settings{}, []Claim{claim("pvc-0", 200*gi)}, nil, "pvc-0"},
		{"age is irrelevant E163 E171", Settings{}, []Claim{claim("pvc-2", 200*gi, young)}, nil, "pvc-2"},
		{"stock's age E163", Settings{MinAge: 600 * time.Second}, []Claim{claim("pvc-1", 200*gi), claim("pvc-0", 200*gi, young)}, nil, "pvc-1"},
		{"the smallest that fits E167", Settings{Larger: true}, []Claim{claim("a", 300*gi), claim("b", 250*gi), claim("c", 100*gi)}, nil, "b"},
		{"too small E167", Settings{Larger: true}, []Claim{claim("a", 100*gi)}, nil, "own"},
		{"before 4.2 the same size E167", Settings{}, []Claim{claim("a", 300*gi)}, nil, "own"},
		{"another class", Settings{}, []Claim{claim("a", 200*gi, func(c *Claim) { c.Class = "slow" })}, nil, "own"},
		{"being deleted E179", Settings{}, []Claim{claim("a", 200*gi, func(c *Claim) { c.Deleting = true })}, nil, "own"},
		{"the driver's own E179", Settings{}, []Claim{claim("d", 200*gi)}, []string{"d"}, "own"},
		{"another access mode E180", Settings{}, []Claim{claim("a", 200*gi, func(c *Claim) { c.Modes = []string{"ReadWriteMany"} })}, nil, "own"},
		{"a block device", Settings{}, []Claim{claim("a", 200*gi, func(c *Claim) { c.VolumeMode = "Block" })}, nil, "own"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := New(tc.set, tc.driver, t0)
			tb.Replace(tc.listed)
			names, hold := tb.Prepare(1, []Claim{want}, true, t0)
			if d := cmp.Diff([]string{tc.want}, names); d != "" || hold {
				t.Errorf("hold %v: %s", hold, d)
			}
			if again, _ := tb.Prepare(1, []Claim{want}, true, t0); !cmp.Equal(again, names) {
				t.Errorf("a repeated create got %v", again)
			}
		})
	}
	tb := New(Settings{}, nil, t0)
	tb.Replace([]Claim{claim("a", 200*gi, func(c *Claim) { c.Modes = []string{"ReadWriteMany"} })})
	if c, ok := tb.Mismatch(want, t0); !ok || c.Name != "a" { // E180: said in the log
		t.Errorf("mismatch %v %v", c, ok)
	}
}

// E168, E170, E172: a claim in use is not free, is given out once, and is waited for while its pod ends.
func TestUseE168E170E172(t *testing.T) {
	tb := New(Settings{}, nil, t0)
	tb.Replace([]Claim{claim("c1", gi), claim("c2", gi)})
	tb.Mounts(1, []string{"c1"}, false)
	names, _ := tb.Prepare(2, []Claim{claim("own-2", gi)}, true, t0)
	if names[0] != "c2" {
		t.Errorf("executor 2 got %v", names)
	}
	if names, _ = tb.Prepare(3, []Claim{claim("own-3", gi)}, true, t0); names[0] != "own-3" {
		t.Errorf("executor 3 got %v", names)
	}
	tb.Mounts(1, []string{"c1"}, true)
	if _, hold := tb.Prepare(4, []Claim{claim("own-4", gi)}, true, t0); !hold {
		t.Error("c1 is about to be free and is not waited for")
	}
	tb.Release(1)
	if names, _ = tb.Prepare(4, []Claim{claim("own-4", gi)}, true, t0); names[0] != "c1" {
		t.Errorf("executor 4 got %v", names)
	}
}

// E238: nothing is free until the creates of before a restart must have landed.
func TestRestartE238(t *testing.T) {
	tb := New(Settings{}, nil, t0.Add(10*time.Second))
	tb.Replace([]Claim{claim("c1", gi)})
	if names, _ := tb.Prepare(1, []Claim{claim("own", gi)}, true, t0); names[0] != "own" {
		t.Errorf("got %v", names)
	}
	if names, _ := tb.Prepare(2, []Claim{claim("own2", gi)}, true, t0.Add(10*time.Second)); names[0] != "c1" {
		t.Errorf("after ten seconds got %v", names)
	}
}

// E165, E174, E175: how many executors wait mode lets begin.
func TestRoomE165E174E175(t *testing.T) {
	tb := New(Settings{Wait: true, Maximum: 8, PerExecutor: 2}, nil, t0)
	tb.Replace(nil)
	if n := tb.Room(t0); n != 4 { // E175: four executors with two claims each
		t.Errorf("room for %d", n)
	}
	tb.Prepare(1, []Claim{claim("a", gi), claim("b", gi)}, false, t0)
	if n := tb.Room(t0); n != 3 {
		t.Errorf("room for %d after one", n)
	}
	tb = New(Settings{Wait: true, Maximum: 2, PerExecutor: 1}, nil, t0)
	tb.Replace([]Claim{claim("c1", gi), claim("c2", gi)})
	tb.Mounts(1, []string{"c1"}, false)
	tb.Mounts(2, []string{"c2"}, false)
	if n := tb.Room(t0); n != 0 {
		t.Errorf("room for %d with all claims in use", n)
	}
	tb.Release(2)
	if n := tb.Room(t0); n != 0 || !tb.Stale() {
		t.Errorf("room for %d before the list", n)
	}
	tb.Replace([]Claim{claim("c1", gi)}) // c2 was deleted by hand
	if n := tb.Room(t0); n != 1 {
		t.Errorf("room for %d after c2 is gone", n)
	}
}

// E169: whatever happens in whatever order, no claim is mounted by two executors.
func TestNeverTwiceE169(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
		tb := New(Settings{Larger: draw(2) == 0}, []string{"d"}, t0)
		mounted := map[int64][]string{}
		exists := map[string]Claim{"d": claim("d", gi)}
		var id int64
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch draw(4) {
			case 0, 1:
				id++
				w := claim(fmt.Sprint("own-", id), int64(1+draw(3))*gi)
				if names, hold := tb.Prepare(id, []Claim{w}, draw(2) == 0, t0); !hold {
					mounted[id] = names
					if _, ok := exists[names[0]]; !ok {
						exists[names[0]] = w
					}
				}
			case 2:
				if len(mounted) > 0 {
					gone := slices.Sorted(maps.Keys(mounted))[draw(len(mounted))]
					tb.Mounts(gone, mounted[gone], true)
					tb.Release(gone)
					delete(mounted, gone)
				}
			case 3:
				var list []Claim
				for _, name := range slices.Sorted(maps.Keys(exists)) {
					if draw(10) > 0 { // a stale list
						list = append(list, exists[name])
					}
				}
				tb.Replace(list)
			}
			by := map[string]int64{"d": -1}
			for e, names := range mounted {
				if other, ok := by[names[0]]; ok {
					t.Fatalf("%s is mounted by %d and %d", names[0], other, e)
				}
				by[names[0]] = e
			}
		}
	})
}
