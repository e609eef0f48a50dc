SELECT hooklatch.delivery_days_ahead();
