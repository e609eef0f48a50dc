package route

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// ownFunctions declares the functions money and date, for texts that users read.
func ownFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("money", cel.Overload("money_int_string", []*cel.Type{cel.IntType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(amount, currency ref.Val) ref.Val {
				return textOrError(money(int64(amount.(types.Int)), string(currency.(types.String))))
			}))),
		cel.Function("date",
			cel.Overload("date_timestamp_string", []*cel.Type{cel.TimestampType, cel.StringType}, cel.StringType,
				cel.BinaryBinding(func(at, layout ref.Val) ref.Val {
					return textOrError(date(at.(types.Timestamp).Time, string(layout.(types.String)), "UTC"))
				})),
			cel.Overload("date_timestamp_string_string", []*cel.Type{cel.TimestampType, cel.StringType, cel.StringType}, cel.StringType,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					return textOrError(date(args[0].(types.Timestamp).Time, string(args[1].(types.String)), string(args[2].(types.String))))
				}))),
	}
}

func textOrError(text string, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.String(text)
}

// minorDigits lists the currencies that do not have two decimal digits, with their number of digits
// (ISO 4217).
var minorDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
	"RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// money formats an amount that is given in the currency's smallest unit: 4200 and eur become 42.00
// EUR.
func money(amount int64, currency string) (string, error) {
	currency = strings.ToUpper(currency)
	if len(currency) != 3 || strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", errors.New("money: the currency is not three letters of ISO 4217")
	}
	digits, special := minorDigits[currency]
	if !special {
		digits = 2
	}
	text, sign := strconv.FormatInt(amount, 10), ""
	if amount < 0 {
		text, sign = text[1:], "-"
	}
	if digits > 0 {
		text = strings.Repeat("0", max(digits+1-len(text), 0)) + text
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	return sign + text + " " + currency, nil
}

// date formats a time in a layout of package time, in a named time zone.
func date(at time.Time, layout, zone string) (string, error) {
	in, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return "", errors.New("date: there is no such time zone")
	}
	return at.In(in).Format(layout), nil
}
