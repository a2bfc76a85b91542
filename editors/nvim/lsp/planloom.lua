return require('planloom').config()
