package fidelity

import "regexp"

// Wanted is a difference from stock that is meant.
type Wanted struct {
	Name   string
	Reason string
	// Where and What match case ("role-name") and place ("object path"); empty: anywhere.
	Where, What string
	// Stock and Ours match the values; empty: any.
	Stock, Ours string
}

// WantedDifferences is the one list of them. Each entry must be met by a case.
func WantedDifferences() []Wanted {
	return []Wanted{
		{Name: "service-account", Where: "^driver-(token|credentials)", What: `^Pod spec\.serviceAccount(Name)?$`, Stock: "^$",
			Reason: "The driver's service account is set beside credentials too (spark.kubespark.stock=service-account)."},
		{Name: "submission-token", What: `^ConfigMap data\.spark\.properties spark\.kubernetes\.authenticate\.submission\.`, Ours: "^$",
			Reason: "What authenticates the submitter does not travel to the driver."},
		{Name: "krb5-name", Where: "^driver-krb5-other-name$", What: `^Pod spec\.volumes\[krb5-file\]\.configMap\.items\[0\]\.path$`, Ours: `^"krb5\.conf"$`,
			Reason: "A krb5 file of any name is mounted as krb5.conf; stock's mount then finds no file."},
		{Name: "hostname-of-dots", Where: "^executor-dotted-prefix$", What: `^Pod spec\.hostname$`, Stock: "_", Ours: "^\"[a-z0-9-]*\"$",
			Reason: "Dots of a name prefix become - in host names; the API refuses stock's _."},
		{Name: "template-account", Where: "^executor-template-account-name$", What: `^Pod spec\.serviceAccount$`, Stock: "^$",
			Reason: "Either field of an executor template's service account counts; both are set."},
		{Name: "packages", Where: "^driver-packages$", What: "^error", Stock: "unresolved dependency", Ours: "^$",
			Reason: "Packages are resolved by the driver alone; stock resolves them at submission too, for a class path that it does not use, and fails where the submitter reaches no repository."},
		{Name: "publish-not-ready-false", What: `^Service spec\.publishNotReadyAddresses$`, Stock: "^false$", Ours: "^$",
			Reason: "An explicit false is what the API takes an absent field for; our typed Service has no way to write it."},
		{Name: "volcano-in-every-version", Where: "volcano", Stock: "VolcanoFeatureStep", Ours: "^$",
			Reason: "Volcano's step is native; distributions built without its module (4.1.1's of PyPI) refuse it."},
	}
}

type matcher struct{ where, what, stock, ours *regexp.Regexp }

// wanted returns the name of the entry that a difference falls under; empty if there is none.
func wanted(d Difference) string {
	for _, w := range WantedDifferences() {
		m := matcher{regexp.MustCompile(w.Where), regexp.MustCompile(w.What), regexp.MustCompile(w.Stock), regexp.MustCompile(w.Ours)}
		if m.where.MatchString(d.Role+"-"+d.Case) && m.what.MatchString(d.Object+" "+d.Path) && m.stock.MatchString(d.Stock) && m.ours.MatchString(d.Ours) {
			return w.Name
		}
	}
	return ""
}
