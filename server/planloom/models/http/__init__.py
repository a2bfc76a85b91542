"""What all HTTP providers share: a transport that bounds hostile answers, deadlines, retries, keys and failures."""
