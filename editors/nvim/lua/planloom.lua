--- Planloom in Neovim 0.11 or newer: its server, its commands, its questions and a part of a status line.
local M = {}

local NAME = 'planloom'
local MARKERS = { '.git', '.planloom' }

local function say(text, level)
  vim.notify('Planloom: ' .. text, level or vim.log.levels.INFO)
end

--- The folder of a buffer's project; for a buffer without a file, or outside of every project, the current folder.
local function root_of(bufnr)
  local found = vim.api.nvim_buf_get_name(bufnr) ~= '' and vim.fs.root(bufnr, MARKERS)
  return found or vim.fs.root(vim.fn.getcwd(), MARKERS) or vim.fn.getcwd()
end

---------------------------------------------------------------------------------------------------------------------
-- Questions

local open_question = nil

local function close_question()
  local question = open_question
  open_question = nil
  if question and vim.api.nvim_win_is_valid(question.window) then
    vim.api.nvim_win_close(question.window, true)
  end
end

--- Ask in a window at the foot of the screen, which hides nothing that is to be judged and blocks no key elsewhere.
--- `answered` is called once: with the index of a choice, or nil if the window is left.
local function ask(message, titles, answered)
  local lines = vim.split(message, '\n')
  local first = #lines + 1
  for index, title in ipairs(titles) do
    table.insert(lines, ('%d  %s'):format(index, (title:gsub('\n', ' '))))
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].bufhidden = 'wipe'
  local width, most = math.max(20, vim.o.columns - 4), math.max(3, math.floor(vim.o.lines / 2))
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = 'editor', anchor = 'SW', row = vim.o.lines - vim.o.cmdheight - 1, col = 1,
    width = width, height = math.min(#lines, most), style = 'minimal', border = 'rounded', title = ' Planloom ',
  })
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
  vim.api.nvim_win_set_height(window, math.min(vim.api.nvim_win_text_height(window, {}).all, most))
  vim.wo[window].cursorline = true
  vim.api.nvim_win_set_cursor(window, { first, 0 })

  local done = false
  local function finish(choice)
    if not done then
      done = true
      vim.cmd.pclose()
      close_question()
      answered(choice)
    end
  end
  local function key(lhs, choice)
    vim.keymap.set('n', lhs, function() finish(choice) end, { buffer = buffer, nowait = true })
  end
  for index = 1, math.min(#titles, 9) do
    key(tostring(index), index)
  end
  vim.keymap.set('n', '<CR>', function()
    local index = vim.api.nvim_win_get_cursor(window)[1] - first + 1
    finish(titles[index] and index or nil)
  end, { buffer = buffer, nowait = true })
  key('q')
  key('<Esc>')
  vim.api.nvim_create_autocmd('WinClosed', { pattern = tostring(window), once = true, callback = function()
    vim.schedule(function() finish(nil) end)
  end })
  open_question = { window = window }
end

--- `window/showMessageRequest`: the answer is a choice, or null if the question is left for later.
local function on_question(_, params)
  local actions, waiting = params.actions or {}, coroutine.running()
  local titles = vim.tbl_map(function(action) return action.title end, actions)
  ask(params.message, titles, function(choice)
    vim.schedule(function() coroutine.resume(waiting, choice and actions[choice] or vim.NIL) end)
  end)
  return coroutine.yield()
end

--- `window/showMessage`: redrawn first, so that a line that fits waits for no key.
local function on_message(_, params)
  vim.cmd.redraw()
  vim.api.nvim_echo({ { params.message, ({ 'ErrorMsg', 'WarningMsg' })[params.type] } }, true, {})
  return vim.NIL
end

--- `window/showDocument`: a diff stands above what is worked on and leaves the cursor there; other documents are opened.
local function on_document(error, params, context)
  if not params.uri:match('%.diff$') or not vim.startswith(params.uri, 'file:') then
    return vim.lsp.handlers['window/showDocument'](error, params, context)
  end
  vim.cmd({ cmd = 'pedit', args = { vim.fn.fnameescape(vim.uri_to_fname(params.uri)) } })
  return { success = true }
end

---------------------------------------------------------------------------------------------------------------------
-- What the other language servers know

--- One answer to these is enough; those to the others are lists, which are put together.
local SINGLE = {
  ['textDocument/documentSymbol'] = true, ['textDocument/hover'] = true, ['textDocument/rename'] = true,
  ['textDocument/formatting'] = true, ['codeAction/resolve'] = true,
}
--- How long a server may take that starts for a file which nobody had opened.
local START_MS = 5000
local NO_CODE = 'Language servers are asked about files alone, and not about documents of plans.'

--- The lines of a file, as they are in its buffer, if it is loaded.
local function lines_of(uri)
  local bufnr, path = vim.uri_to_bufnr(uri), vim.uri_to_fname(uri)
  if vim.api.nvim_buf_is_loaded(bufnr) then
    return vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  end
  return vim.fn.filereadable(path) == 1 and vim.fn.readfile(path) or {}
end

--- A value of LSP with its positions, which are in the file `uri` where it names no other, counted in another encoding.
--- `texts` are the lines of the files that were looked at.
local function recounted(value, uri, from, to, texts)
  if type(value) ~= 'table' or from == to then
    return value
  end
  if value.line and value.character and uri then
    texts[uri] = texts[uri] or lines_of(uri)
    local line = texts[uri][value.line + 1] or ''
    local byte = vim.str_byteindex(line, from, value.character, false)
    return { line = value.line, character = vim.str_utfindex(line, to, byte, false) }
  end
  local named = value.uri or (value.textDocument or {}).uri or (value.from or {}).uri or uri
  local result = setmetatable({}, getmetatable(value))
  for key, each in pairs(value) do
    local target = type(key) == 'string' and (key:match('^target') and value.targetUri or key:match('^%a+://.*'))
    -- The data of a server come back to it as they are.
    result[key] = key == 'data' and each or recounted(each, target or named, from, to, texts)
  end
  return result
end

--- The other clients that answer a method, in a buffer or anywhere.
local function others(method, bufnr)
  return vim.tbl_filter(function(client)
    return client.name ~= NAME and client:supports_method(method, bufnr)
  end, vim.lsp.get_clients({ bufnr = bufnr }))
end

--- The buffer of a file; one that was not loaded is, and the servers for its type start.
local function buffer_of(uri, method)
  local bufnr = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    vim.fn.bufload(bufnr)
    local waiting, ends = coroutine.running(), vim.uv.now() + START_MS
    while #others(method, bufnr) == 0 and vim.uv.now() < ends do
      vim.defer_fn(function() coroutine.resume(waiting) end, 50)
      coroutine.yield()
    end
  end
  return bufnr
end

--- `planloom/editor/language`: what they answer to a request of LSP, whose positions are in UTF-16.
local function on_language(_, asked)
  local method, params, waiting = asked.method, asked.params, coroutine.running()
  local uri, bufnr = (params.item or params.textDocument or {}).uri, nil
  if uri then
    if not vim.startswith(uri, 'file:') or uri:match('%.plan%.md$') or not vim.uv.fs_stat(vim.uri_to_fname(uri)) then
      return { result = vim.NIL, problem = NO_CODE }
    end
    bufnr = buffer_of(uri, method)
  end
  local clients = others(method, bufnr)
  local left, answers, problem = #clients, {}, 'No language server of the editor answers ' .. method .. ' here.'
  for index, client in ipairs(clients) do
    local encoding = client.offset_encoding
    local sent = client:request(method, recounted(params, uri, 'utf-16', encoding, {}), function(error, result)
      left, problem = left - 1, error and error.message or problem
      if not error then
        answers[index] = result == nil and vim.NIL or recounted(result, uri, encoding, 'utf-16', {})
      end
      vim.schedule(function() coroutine.resume(waiting) end)
    end, bufnr)
    left = sent and left or left - 1
  end
  while left > 0 do
    coroutine.yield()
  end
  local found = {}
  for index = 1, #clients do
    local answer = answers[index]
    if type(answer) == 'table' and next(answer) ~= nil then
      if SINGLE[method] then
        return { result = answer }
      end
      vim.list_extend(found, vim.islist(answer) and answer or { answer })
    end
  end
  if next(answers) == nil then
    return { result = vim.NIL, problem = problem }
  end
  return { result = #found > 0 and found or vim.NIL }
end

---------------------------------------------------------------------------------------------------------------------
-- The server

--- The configuration of the server, which `vim.lsp.config('planloom', …)` can change.
function M.config()
  return {
    cmd = { 'planloom', 'serve', '--stdio' },
    root_dir = function(bufnr, on_dir) on_dir(root_of(bufnr)) end,
    -- Each change is reported at once: an edit is made for the text of this moment.
    flags = { debounce_text_changes = 0 },
    handlers = {
      ['window/showMessageRequest'] = on_question,
      ['window/showMessage'] = on_message,
      ['window/showDocument'] = on_document,
      ['planloom/editor/language'] = on_language,
    },
    init_options = { planloomClient = { messages = true, changesFirst = true, language = true } },
  }
end

--- Calls `use` with the client of the current folder, which is started if none runs, as in a window without a file.
local function with_client(use)
  local root = root_of(0)
  local function found()
    local clients = vim.lsp.get_clients({ name = NAME })
    for _, client in ipairs(clients) do
      if client.root_dir == root then
        return client
      end
    end
    return #clients == 1 and clients[1] or nil
  end
  local client = found()
  if client and client.initialized then
    return use(client)
  end
  if not client then
    local config = vim.deepcopy(vim.lsp.config[NAME])
    config.name, config.root_dir = NAME, root
    if not vim.lsp.start(config, { attach = false }) then
      return say('the server did not start: is `planloom` installed, and on the PATH?', vim.log.levels.ERROR)
    end
  end
  local ends = vim.uv.now() + 30000
  local function wait()
    client = found()
    if client and client.initialized then
      use(client)
    elseif vim.uv.now() < ends then
      vim.defer_fn(wait, 20)
    else
      say('the server did not answer; :LspLog has its words', vim.log.levels.ERROR)
    end
  end
  wait()
end

--- Runs a command of the server; one that several plans fit asks which is meant.
local function run(command, arguments, on_result)
  with_client(function(client)
    client:request('workspace/executeCommand', { command = command, arguments = arguments }, function(error, result)
      if not error then
        return on_result and on_result(result)
      end
      local plans = {}
      for _, detail in ipairs(type(error.data) == 'table' and error.data.details or {}) do
        local id, request = (detail.problem or ''):match('^(%x[%x-]+): (.*)$')
        if detail.field == 'planId' and id then
          table.insert(plans, { id = id, request = request })
        end
      end
      if #plans == 0 then
        return say(error.message, vim.log.levels.ERROR)
      end
      local requests = vim.tbl_map(function(plan) return plan.request end, plans)
      ask('Which plan?', requests, function(choice)
        if choice then
          run(command, { plans[choice].id }, on_result)
        end
      end)
    end)
  end)
end

---------------------------------------------------------------------------------------------------------------------
-- Commands

--- Asks for a plan. `range`: the first and last line that the request is about, if any.
function M.plan(text, range)
  if text == '' then
    return vim.ui.input({ prompt = 'Plan: ', completion = 'customlist,v:lua.planloom_references' }, function(typed)
      if typed and typed ~= '' then
        M.plan(typed, range)
      end
    end)
  end
  local name = vim.fn.expand('%:.')
  if range and name ~= '' then
    text = ('%s @%s:%d-%d'):format(text, name, range[1], range[2])
  end
  run('planloom.plan', { text })
end

--- Completes the `@` reference at the end of what has been typed.
function M.references(lead, line)
  local client = vim.lsp.get_clients({ name = NAME })[1]
  local at = lead:find('@', 1, true)
  if not client or not at then
    return {}
  end
  local text = line:sub(1, #line - #lead) .. lead
  local offset = vim.str_utfindex(text, 'utf-16')
  local items = {}
  -- The list of files may still be in the making.
  vim.wait(3000, function()
    local answer = client:request_sync('planloom/reference/complete', { text = text, offset = offset, limit = 30 }, 1000)
    local result = answer and answer.result
    items = result and result.items or {}
    return not result or #items > 0 or not result.isIncomplete
  end, 50)
  return vim.tbl_map(function(item) return lead:sub(1, at - 1) .. item.insertText end, items)
end
_G.planloom_references = M.references

--- Shows a plan and what became of it in a window of its own.
function M.show()
  run('planloom.showPlan', {}, function(result)
    vim.cmd.new()
    vim.bo.buftype, vim.bo.bufhidden, vim.bo.filetype = 'nofile', 'wipe', 'markdown'
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(result.text, '\n'))
    vim.bo.modifiable = false
  end)
end

local progress = {}

--- What the plans do that are being drafted or run, for a status line; empty if there is none.
function M.status()
  local parts = vim.tbl_values(progress)
  table.sort(parts)
  return table.concat(parts, ' · ')
end

--- Defines the commands and enables the server. `plugin/planloom.lua` does so.
function M.define()
  vim.lsp.enable(NAME)
  vim.api.nvim_create_user_command('Plan', function(called)
    M.plan(called.args, called.range > 0 and { called.line1, called.line2 } or nil)
  end, { nargs = '*', range = true, complete = M.references, desc = 'Plan a task' })
  vim.api.nvim_create_user_command('PlanShow', M.show, { desc = 'Show a plan and what became of it' })
  for name, command in pairs({
    PlanPause = 'pause', PlanResume = 'resume', PlanCancel = 'cancel', PlanUndo = 'undo', PlanRedo = 'redo',
  }) do
    vim.api.nvim_create_user_command(name, function() run('planloom.' .. command, {}) end,
      { desc = command:gsub('^%l', string.upper) .. ' a plan' })
  end
  vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == NAME then
      local value = event.data.params.value
      progress[event.data.params.token] = value.kind ~= 'end' and 'Planloom ' .. (value.message or '') or nil
      vim.cmd.redrawstatus()
    end
  end })
end

return M
