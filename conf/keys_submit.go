package conf

import "time"

// Keys that only the submitter reads.
var (
	// WaitAppCompletion says whether submit stays until the application is done.
	WaitAppCompletion = Bool("spark.kubernetes.submission.waitAppCompletion", Default(true), Since("2.3.0"),
		Doc("In cluster mode, wait for the application to finish before exiting."))
	// ReportInterval is the pause between two status lines while waiting.
	ReportInterval = Millis("spark.kubernetes.report.interval", time.Millisecond, Default(time.Second), Since("2.3.0"),
		Check(func(d time.Duration) bool { return d > 0 }, "Logging interval must be a positive time value."),
		Doc("Interval between reports of the application's status in cluster mode."))
)

func submitKeys() []Key { return []Key{WaitAppCompletion, ReportInterval} }
