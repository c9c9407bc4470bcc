redis-cli ZADD '{bide}:inbox' 0 '["mail-42", "high", "send-email", {"to": "x"}]'
