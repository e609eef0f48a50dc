SELECT to_regproc('hooklatch.delivery_days_ahead') IS NOT NULL;
