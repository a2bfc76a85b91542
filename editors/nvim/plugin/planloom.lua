if vim.g.loaded_planloom then
  return
end
vim.g.loaded_planloom = true
require('planloom').define()
