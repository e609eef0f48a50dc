package sdktest

import (
	"strconv"
	"time"
)

func timestamp(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
