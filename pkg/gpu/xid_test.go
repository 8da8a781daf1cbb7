package gpu

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func catalogue(t *testing.T) map[uint64]XID {
	t.Helper()
	table, err := parseXIDs(xidCatalogue)
	if err != nil {
		t.Fatalf("xid.tsv: %v", err)
	}
	return table
}

func TestEveryRowOfTheCatalogueIsRead(t *testing.T) {
	table := catalogue(t)
	if got := len(table); got != 113 {
		t.Errorf("%d codes, want 113", got)
	}
	name := regexp.MustCompile(`^[A-Z][A-Z0-9_]+( / [A-Z][A-Z0-9_]+)*$`)
	for code, x := range table {
		found, ok := LookupXID(code)
		switch {
		case !ok || found != x:
			t.Errorf("%d: looked up %+v", code, found)
		case !name.MatchString(x.Mnemonic):
			t.Errorf("%d: mnemonic %q", code, x.Mnemonic)
		case x.Application && x.Serious():
			t.Errorf("%d: an application's fault is not serious", code)
		case x.Serious() && x.Owner == XIDInformational:
			t.Errorf("%d: somebody has to act on what is serious", code)
		case x.ImmediateAction == "RESTART_APP" && x.Owner != XIDUser:
			t.Errorf("%d: who restarts the application is its user, not %s", code, x.Owner)
		case strings.HasPrefix(x.ImmediateAction, "RESET_") && x.Owner != XIDOperator:
			t.Errorf("%d: who resets the GPU is the operator, not %s", code, x.Owner)
		}
	}
}

// D20: application faults are shown but do not turn the GPU red; serious ones do.
func TestAnApplicationsFaultIsNotTheGPUs(t *testing.T) {
	for _, code := range []uint64{13, 31, 43, 45, 68, 109} {
		if x, found := LookupXID(code); !found || !x.Application || x.Serious() {
			t.Errorf("%d: got %+v, %v", code, x, found)
		}
	}
	for _, code := range []uint64{48, 62, 64, 74, 79, 94, 95, 119, 120} {
		if x, found := LookupXID(code); !found || x.Application || !x.Serious() {
			t.Errorf("%d: got %+v, %v", code, x, found)
		}
	}
	for _, code := range []uint64{63, 92, 93, 106, 154} {
		if x, found := LookupXID(code); !found || x.Application || x.Serious() || x.Owner != XIDInformational {
			t.Errorf("%d: got %+v, %v", code, x, found)
		}
	}
}

// D20: unknown codes are shown as numbers and never index past a table.
func TestAnUnknownCodeIsANumber(t *testing.T) {
	for code, want := range map[uint64]string{
		0: "XID 0", 999: "XID 999", 4294967295: "XID 4294967295", 1<<64 - 1: "XID 18446744073709551615",
		79: "XID 79: GPU has fallen off the bus", 61: "XID 61: PMU_BREAKPOINT", 31: "XID 31: GPU memory page fault",
	} {
		if got := XIDText(code); got != want {
			t.Errorf("%d: got %q, want %q", code, got, want)
		}
	}
	for _, code := range []uint64{0, 999, 4294967295} {
		if x, found := LookupXID(code); found || x != (XID{}) {
			t.Errorf("%d: got %+v", code, x)
		}
	}
}

func TestWhatNVIDIASaysToDo(t *testing.T) {
	x, _ := LookupXID(79)
	want := XID{
		Code: 79, Mnemonic: "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", Description: "GPU has fallen off the bus",
		ImmediateAction: "RESTART_BM", InvestigatoryAction: "CONTACT_SUPPORT", Owner: XIDOperator, serious: true,
	}
	if x != want {
		t.Errorf("got %+v", x)
	}
	var serious []uint64
	for code, x := range catalogue(t) {
		if x.Serious() {
			serious = append(serious, code)
		}
	}
	slices.Sort(serious)
	if want := []uint64{46, 48, 62, 64, 74, 79, 94, 95, 110, 119, 120, 136, 140, 143, 151, 155, 156, 158}; !slices.Equal(serious, want) {
		t.Errorf("serious: got %v, want %v", serious, want)
	}
}

func TestABrokenCatalogueIsRefused(t *testing.T) {
	const good = "8\tNAME\ttext\tIGNORE\t\tuser\tyes\tno"
	for text, want := range map[string]string{
		good:                                   `line 1: must name the columns`,
		xidColumns + "\n" + good + "\tx":       "line 2: 9 columns, must be 8",
		xidColumns + "\n" + good + "\n" + good: "line 3: code 8 is there twice",
		xidColumns + "\n" + strings.Replace(good, "8", "-1", 1):               `line 2: code "-1", mnemonic "NAME": must be a number and a name`,
		xidColumns + "\n" + strings.Replace(good, "user", "me", 1):            `line 2: owner "me": must be user, operator or informational`,
		xidColumns + "\n# a comment\n" + strings.Replace(good, "yes", "1", 1): `line 3: "1" in column 7: must be yes or no`,
	} {
		if _, err := parseXIDs(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
