"""One function for each request and notification: convert, call the application, convert back."""
