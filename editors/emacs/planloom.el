;;; planloom.el --- Plan a task, review it and apply it -*- lexical-binding: t -*-

;; Author: The Planloom authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: tools
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Talks to `planloom serve' by itself, so that eglot or lsp-mode keep their own servers for the same buffers.
;; `M-x planloom' asks for a plan; its document opens, and questions come in a window at the foot of the frame.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'url-util)

(defgroup planloom nil "Plans that are reviewed and applied." :group 'tools)

(defcustom planloom-command '("planloom" "serve" "--stdio")
  "The program of the server, with its arguments."
  :type '(repeat string))

(defcustom planloom-typing-seconds 1.0
  "A question takes the focus once no key was pressed for so long."
  :type 'number)

(cl-defstruct (planloom--server (:constructor planloom--make-server))
  "A server: the folder it works in, its process, what has come of the next message, and what waits for answers."
  root process (bytes "") (last-id 0) (waiting (make-hash-table)) ready early (progress (make-hash-table :test #'equal)))

(defvar planloom--servers nil "The servers that run, one for each folder.")
(defvar planloom--diff nil "The buffer of the diff that is shown with a question.")
(defvar-local planloom--open nil "The server that knows this buffer's text.")
(defvar-local planloom--version 0 "The version of this buffer's text that the server knows.")
(defvar-local planloom--changed nil "Whether the text has changed since.")
;; Another mode for a buffer changes nothing of what the server knows.
(dolist (each '(planloom--open planloom--version planloom--changed)) (put each 'permanent-local t))
(dolist (each '(planloom--after-change planloom--after-save planloom--close))
  (put each 'permanent-local-hook t))

;;;; Messages

(defun planloom--send (server message)
  "Send MESSAGE, a plist, to SERVER."
  (let ((body (encode-coding-string (json-serialize `(:jsonrpc "2.0" ,@message) :false-object :false :null-object :null)
                                    'utf-8)))
    (process-send-string (planloom--server-process server)
                         (format "Content-Length: %d\r\n\r\n%s" (length body) body))))

(defun planloom--notify (server method params)
  "Send SERVER the notification METHOD with PARAMS."
  (planloom--send server `(:method ,method :params ,params)))

(defun planloom--request (server method params &optional done)
  "Send SERVER the request METHOD with PARAMS.
DONE is called with the result and, if there is one, the error."
  (planloom--report-changes server)
  (let ((id (cl-incf (planloom--server-last-id server))))
    (puthash id (or done (lambda (_ error) (when error (message "Planloom: %s" (plist-get error :message)))))
             (planloom--server-waiting server))
    (planloom--send server `(:id ,id :method ,method :params ,params))))

(defun planloom--await (server method params seconds)
  "The result of the request METHOD with PARAMS to SERVER; nil after SECONDS."
  (let (answer)
    (planloom--request server method params (lambda (result _) (setq answer (list result))))
    (with-timeout (seconds nil)
      (while (and (not answer) (process-live-p (planloom--server-process server)))
        (accept-process-output (planloom--server-process server) 0.05)))
    (car answer)))

(defun planloom--filter (server output)
  "Take OUTPUT of SERVER, and act on each message that is whole."
  (setf (planloom--server-bytes server) (concat (planloom--server-bytes server) output))
  (let (begin)
    (while (let ((bytes (planloom--server-bytes server)))
             (and (string-match "Content-Length: *\\([0-9]+\\)\r\n\\(?:[^\r\n]+\r\n\\)*\r\n" bytes)
                  (>= (length bytes)
                      (+ (setq begin (match-end 0)) (string-to-number (match-string 1 bytes))))))
      (let* ((bytes (planloom--server-bytes server))
             (end (+ begin (string-to-number (match-string 1 bytes))))
             (message (json-parse-string (decode-coding-string (substring bytes begin end) 'utf-8)
                                         :object-type 'plist :null-object nil :false-object nil)))
        (setf (planloom--server-bytes server) (substring bytes end))
        (condition-case error
            (planloom--receive server message)
          (error (message "Planloom: %s" (error-message-string error))))))))

(defun planloom--receive (server message)
  "Act on MESSAGE of SERVER."
  (let ((id (plist-get message :id)) (method (plist-get message :method)) (params (plist-get message :params)))
    (cond ((and id method) (planloom--answer server id method params))
          (method (planloom--heard server method params))
          (t (let ((done (gethash id (planloom--server-waiting server))))
               (remhash id (planloom--server-waiting server))
               (when done (funcall done (plist-get message :result) (plist-get message :error))))))))

(defun planloom--answer (server id method params)
  "Answer the request METHOD with PARAMS and the ID that SERVER has given it."
  (cl-flet ((give (result) (planloom--send server `(:id ,id :result ,result))))
    (pcase method
      ("workspace/applyEdit" (give (planloom--apply server (plist-get params :edit))))
      ("window/showMessageRequest" (planloom--ask server id params))
      ("window/showDocument" (give `(:success ,(planloom--show (plist-get params :uri)))))
      ("planloom/editor/save" (give (planloom--save (plist-get params :uris))))
      ("planloom/editor/language"
       (planloom--ask-eglot (plist-get params :method) (plist-get params :params) #'give))
      ((or "window/workDoneProgress/create" "client/registerCapability") (give :null))
      ("workspace/configuration" (give (vconcat (mapcar (lambda (_) :null) (plist-get params :items)))))
      (_ (planloom--send server `(:id ,id :error (:code -32601 :message "unknown")))))))

(defun planloom--heard (server method params)
  "Act on the notification METHOD with PARAMS of SERVER."
  (pcase method
    ("window/showMessage" (message "%s" (plist-get params :message)))
    ("$/cancelRequest" (planloom--take-back server (plist-get params :id)))
    ("textDocument/publishDiagnostics" (planloom--mark (plist-get params :uri) (plist-get params :diagnostics)))
    ("$/progress"
     (let ((value (plist-get params :value)) (bars (planloom--server-progress server)))
       (if (equal (plist-get value :kind) "end")
           (remhash (plist-get params :token) bars)
         (puthash (plist-get params :token) (plist-get value :message) bars))
       (force-mode-line-update t)))))

;;;; The server

(defun planloom--root ()
  "The folder of the current project, or the current folder."
  (expand-file-name (or (locate-dominating-file default-directory ".git")
                        (locate-dominating-file default-directory ".planloom")
                        default-directory)))

(defun planloom--server (&optional start)
  "The server of the current folder; with START one is started if none runs."
  (let* ((root (planloom--root))
         (server (cl-find root planloom--servers :key #'planloom--server-root :test #'equal)))
    (cond (server server)
          ((not start) nil)
          ((not (executable-find (car planloom-command)))
           (user-error "There is no program `%s': install Planloom, or set `planloom-command'" (car planloom-command)))
          (t (planloom--start root)))))

(defun planloom--start (root)
  "Start a server for the folder ROOT."
  (let* ((server (planloom--make-server :root root)) (default-directory root))
    (setf (planloom--server-process server)
          (make-process :name "planloom" :command planloom-command :coding 'binary :connection-type 'pipe :noquery t
                        :stderr (get-buffer-create " *planloom stderr*")
                        :filter (lambda (_ output) (planloom--filter server output))
                        :sentinel (lambda (process _)
                                    (unless (process-live-p process) (planloom--ended server)))))
    (set-process-query-on-exit-flag (get-buffer-process " *planloom stderr*") nil)
    (push server planloom--servers)
    (planloom--request
     server "initialize"
     `(:processId ,(emacs-pid) :rootUri ,(planloom--uri (directory-file-name root))
       :clientInfo (:name "Emacs" :version ,emacs-version)
       :initializationOptions (:planloomClient (:messages t :save t :changesFirst t :language t))
       :capabilities
       (:general (:positionEncodings ["utf-32"])
        :workspace (:applyEdit t :workspaceEdit (:documentChanges t) :configuration t)
        :window (:workDoneProgress t :showDocument (:support t)
                 :showMessage (:messageActionItem (:additionalPropertiesSupport :false)))))
     (lambda (_ error)
       (if error (message "Planloom: %s" (plist-get error :message))
         (planloom--notify server "initialized" (make-hash-table))
         (setf (planloom--server-ready server) t)
         (dolist (buffer (buffer-list)) (with-current-buffer buffer (planloom--open)))
         (mapc #'funcall (nreverse (planloom--server-early server))))))
    server))

(defun planloom--when-ready (use)
  "Call USE with the server of this folder, once it has answered."
  (let ((server (planloom--server t)))
    (if (planloom--server-ready server) (funcall use server)
      (push (lambda () (funcall use server)) (planloom--server-early server)))))

(defun planloom--ended (server)
  "Forget SERVER, which has ended."
  (setq planloom--servers (delq server planloom--servers))
  (planloom--take-back server nil)
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer (when (eq planloom--open server) (setq planloom--open nil))))
  (force-mode-line-update t))

;;;; Texts

(defun planloom--uri (path)
  "The URI of the file PATH."
  (concat "file://" (url-hexify-string path (cons ?/ url-unreserved-chars))))

(defun planloom--path (uri)
  "The path of a file's URI."
  (decode-coding-string (url-unhex-string (substring uri (length "file://"))) 'utf-8))

(defun planloom--document ()
  "This buffer as the server knows it."
  `(:uri ,(planloom--uri buffer-file-name)))

(defun planloom--text ()
  "The whole text of this buffer."
  (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max))))

(defun planloom--open ()
  "Report this buffer to the server of its folder, if it has a file."
  (when (and buffer-file-name (not planloom--open) planloom--servers (not (file-remote-p buffer-file-name)))
    (let ((server (cl-find-if (lambda (each) (string-prefix-p (planloom--server-root each) buffer-file-name))
                              planloom--servers)))
      (when (and server (planloom--server-ready server))
        (setq planloom--open server planloom--version 0 planloom--changed nil)
        (add-hook 'after-change-functions #'planloom--after-change nil t)
        (add-hook 'after-save-hook #'planloom--after-save nil t)
        (add-hook 'kill-buffer-hook #'planloom--close nil t)
        (add-hook 'completion-at-point-functions #'planloom-completion-at-point nil t)
        (planloom--notify server "textDocument/didOpen"
                          `(:textDocument (:uri ,(planloom--uri buffer-file-name) :languageId ,(planloom--language)
                                           :version 0 :text ,(planloom--text))))))))

(defun planloom--language ()
  "The language of this buffer, by its mode."
  (string-remove-suffix "-mode" (symbol-name major-mode)))

(defun planloom--after-change (&rest _)
  "The text has changed: the server hears of it as soon as Emacs has nothing else to do."
  (unless planloom--changed
    (setq planloom--changed t)
    (run-with-timer 0 nil #'planloom--report-changes planloom--open)))

(defun planloom--report-changes (server)
  "Report to SERVER the texts that have changed."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and planloom--changed server (eq planloom--open server))
        (setq planloom--changed nil)
        (planloom--notify server "textDocument/didChange"
                          `(:textDocument (,@(planloom--document) :version ,(cl-incf planloom--version))
                            :contentChanges [(:text ,(planloom--text))]))))))

(defun planloom--after-save ()
  "Report that this buffer was saved."
  (when planloom--open
    (planloom--report-changes planloom--open)
    (planloom--notify planloom--open "textDocument/didSave" `(:textDocument ,(planloom--document)))))

(defun planloom--close ()
  "Report that this buffer goes."
  (when planloom--open
    (planloom--notify planloom--open "textDocument/didClose" `(:textDocument ,(planloom--document)))
    (setq planloom--open nil)))

(defun planloom--position (position)
  "The place in this buffer of POSITION, whose character counts code points."
  (save-excursion
    (goto-char (point-min))
    (forward-line (plist-get position :line))
    (min (line-end-position) (+ (point) (plist-get position :character)))))

(defun planloom--position-of (place)
  "PLACE as the server counts it."
  (save-excursion
    (goto-char place)
    `(:line ,(1- (line-number-at-pos)) :character ,(- place (line-beginning-position)))))

(defun planloom--apply (server edit)
  "Apply EDIT of SERVER, all of it or nothing, and report the new texts; the answer to `workspace/applyEdit'."
  (planloom--report-changes server)
  (let ((targets (mapcar (lambda (each)
                           (let ((document (plist-get each :textDocument)))
                             (list (find-file-noselect (planloom--path (plist-get document :uri)) t)
                                   (plist-get document :version) (plist-get each :edits))))
                         (plist-get edit :documentChanges))))
    (if (cl-some (lambda (target)
                   (with-current-buffer (car target)
                     (or buffer-read-only
                         (and (nth 1 target) planloom--open (/= (nth 1 target) planloom--version)))))
                 targets)
        '(:applied :false :failureReason "The text has another version, or cannot be changed.")
      (pcase-dolist (`(,buffer ,_ ,edits) targets)
        (with-current-buffer buffer
          (planloom--open)
          (planloom--change edits)))
      (planloom--report-changes server)
      '(:applied t))))

(defun planloom--change (edits)
  "Make EDITS in this buffer as one step of its undo; marks and other windows stay where they were."
  (save-excursion
    (save-restriction
      (widen)
      (let ((places (mapcar (lambda (each)
                              (let ((range (plist-get each :range)))
                                (list (copy-marker (planloom--position (plist-get range :start)))
                                      (copy-marker (planloom--position (plist-get range :end)) t)
                                      (plist-get each :newText))))
                            edits)))
        (undo-boundary)
        (atomic-change-group
          (pcase-dolist (`(,start ,end ,text) (reverse places))
            (goto-char start)
            (delete-region start end)
            (insert text)))
        (undo-boundary)))))

(defun planloom--save (uris)
  "Save the buffers of URIS; the answer to `planloom/editor/save'."
  (let (saved failed)
    (seq-doseq (uri uris)
      (let ((buffer (find-buffer-visiting (planloom--path uri))))
        (condition-case error
            (progn (when buffer (with-current-buffer buffer (let ((inhibit-message t)) (save-buffer))))
                   (push uri saved))
          (error (push `(:uri ,uri :reason ,(error-message-string error)) failed)))))
    `(:saved ,(vconcat (nreverse saved)) :failed ,(vconcat (nreverse failed)))))

(defun planloom--show (uri)
  "Show the file of URI: a diff beside what is worked on, another document in this window; t if it is shown."
  (when (string-prefix-p "file://" uri)
    (let ((buffer (find-file-noselect (planloom--path uri) t)))
      (with-current-buffer buffer (planloom--open))
      (if (string-suffix-p ".diff" uri) (display-buffer (setq planloom--diff buffer))
        (pop-to-buffer-same-window buffer))
      t)))

;;;; What other language servers know

(declare-function eglot-current-server "eglot")
(declare-function eglot--capabilities "eglot")
(declare-function jsonrpc-async-request "jsonrpc")

(defun planloom--eglot (buffer)
  "The server that eglot runs for BUFFER, if its positions are in UTF-16."
  (when-let ((server (and (featurep 'eglot) (with-current-buffer buffer (eglot-current-server)))))
    (and (member (plist-get (eglot--capabilities server) :positionEncoding) '(nil "utf-16")) server)))

(defun planloom--ask-eglot (method params give)
  "Ask eglot's server of a file for METHOD with PARAMS; GIVE gets the answer to `planloom/editor/language'."
  (let* ((uri (plist-get (or (plist-get params :item) (plist-get params :textDocument)) :uri))
         (code (and uri (string-prefix-p "file://" uri) (not (string-suffix-p ".plan.md" uri))
                    (file-exists-p (planloom--path uri))))
         (buffer (cond (code (find-file-noselect (planloom--path uri) t))
                       ((not uri) (cl-find-if #'planloom--eglot (buffer-list)))))
         (server (and buffer (planloom--eglot buffer))))
    (cl-flet ((fail (problem) (funcall give `(:result :null :problem ,problem))))
      (cond ((and uri (not code))
             (fail "Language servers are asked about files alone, and not about documents of plans."))
            ((not server) (fail "No server of eglot that counts in UTF-16 runs for this file."))
            (t (with-current-buffer buffer
                 ;; A deferred request waits until eglot has told its server of the changes to the text.
                 (jsonrpc-async-request
                  server (intern (concat ":" method)) params :deferred method :timeout 15
                  :success-fn (lambda (result) (funcall give `(:result ,(planloom--as-json result))))
                  :error-fn (lambda (error) (fail (plist-get error :message)))
                  :timeout-fn (lambda () (fail "The server of eglot gave no answer in time.")))))))))

(defun planloom--as-json (value)
  "VALUE of eglot, which has nil for null, as it is sent."
  (cond ((null value) :null)
        ((eq value :json-false) :false)
        ((vectorp value) (vconcat (mapcar #'planloom--as-json value)))
        ((consp value) (cl-loop for (key each) on value by #'cddr append (list key (planloom--as-json each))))
        (t value)))

;;;; Questions

(defvar-local planloom--asked nil "The server and the id of this buffer's question, and its choices.")

(defvar planloom-question-mode-map
  (let ((map (make-sparse-keymap)))
    (dotimes (index 9) (define-key map (number-to-string (1+ index)) #'planloom-choose))
    (define-key map (kbd "RET") #'planloom-choose)
    (define-key map "q" #'planloom-later)
    map))

(define-derived-mode planloom-question-mode special-mode "Planloom question"
  "A question of Planloom: a digit or RET on its line chooses, `q' leaves it for later.")

(defun planloom--ask (server id params)
  "Show the question ID of SERVER with its PARAMS; it is answered by a key, at any time."
  (let ((buffer (generate-new-buffer "*Planloom asks*")) (actions (append (plist-get params :actions) nil)))
    (with-current-buffer buffer
      (planloom-question-mode)
      (setq planloom--asked (list server id actions))
      (let ((inhibit-read-only t))
        (insert (propertize (plist-get params :message) 'face 'bold) "\n\n")
        (cl-loop for action in actions for number from 1
                 do (insert (propertize (format "%d  %s\n" number (plist-get action :title)) 'planloom number)))
        (goto-char (point-min))
        (goto-char (or (next-single-property-change (point) 'planloom) (point-min)))))
    (display-buffer buffer '(display-buffer-in-side-window (side . bottom) (window-height . fit-window-to-buffer)))
    (run-with-idle-timer planloom-typing-seconds nil #'planloom--go-to buffer)))

(defun planloom--go-to (buffer)
  "Go to the question of BUFFER, if it still waits and nothing is typed elsewhere."
  (when (and (buffer-live-p buffer) (get-buffer-window buffer) (not (active-minibuffer-window)))
    (select-window (get-buffer-window buffer))))

(defun planloom--give (action)
  "Answer this buffer's question with ACTION, or null."
  (pcase-let ((`(,server ,id ,_) planloom--asked))
    (when (process-live-p (planloom--server-process server))
      (planloom--send server `(:id ,id :result ,(or action :null))))
    (setq planloom--asked nil)
    (let ((shown (list planloom--diff (current-buffer))))
      (setq planloom--diff nil)
      (dolist (each shown)
        (when (buffer-live-p each) (quit-windows-on each) (kill-buffer each))))))

(defun planloom-choose ()
  "Answer with the choice whose digit was pressed, or on whose line the cursor is."
  (interactive)
  (let ((number (if (<= ?1 last-command-event ?9) (- last-command-event ?0)
                  (get-text-property (line-beginning-position) 'planloom))))
    (when-let ((action (and number (nth (1- number) (nth 2 planloom--asked)))))
      (planloom--give action))))

(defun planloom-later ()
  "Leave the question; the plan's document still has it."
  (interactive)
  (planloom--give nil))

(defun planloom-answer ()
  "Go to the question that waits."
  (interactive)
  (if-let ((buffer (cl-find-if (lambda (each) (buffer-local-value 'planloom--asked each)) (buffer-list))))
      (select-window (or (get-buffer-window buffer)
                         (display-buffer buffer '(display-buffer-in-side-window (side . bottom)))))
    (user-error "No question waits")))

(defun planloom--take-back (server id)
  "Close the question ID of SERVER, or all of them, which is answered elsewhere."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and planloom--asked (eq (car planloom--asked) server) (or (null id) (equal (nth 1 planloom--asked) id)))
        (planloom--give nil)))))

;;;; Commands

(defun planloom--run (command arguments &optional done)
  "Run COMMAND of the server with ARGUMENTS, and call DONE with the result; of several plans one is chosen."
  (planloom--when-ready
   (lambda (server)
     (planloom--request
      server "workspace/executeCommand" `(:command ,command :arguments ,(vconcat arguments))
      (lambda (result error)
        (let ((plans (cl-loop for detail across (or (plist-get (plist-get error :data) :details) [])
                              for (id request) = (split-string (or (plist-get detail :problem) "") ": ")
                              when (and (equal (plist-get detail :field) "planId") request)
                              collect (cons request id))))
          (cond ((not error) (when done (funcall done result)))
                (plans (run-with-timer
                        0 nil (lambda ()
                                (planloom--run command
                                               (list (cdr (assoc (completing-read "Which plan? " plans nil t) plans)))
                                               done))))
                (t (message "Planloom: %s" (plist-get error :message))))))))))

(defvar planloom--history nil "The requests of this session.")

;;;###autoload
(defun planloom (request)
  "Ask for a plan for REQUEST; an active region is what it is about, and TAB completes `@' references."
  (interactive
   (let ((server (planloom--server t)) (minibuffer-local-map (copy-keymap minibuffer-local-map)))
     (define-key minibuffer-local-map (kbd "TAB") #'completion-at-point)
     (list (minibuffer-with-setup-hook
               (lambda () (setq planloom--open server)
                 (add-hook 'completion-at-point-functions #'planloom--complete-reference nil t))
             (read-from-minibuffer "Plan: " nil minibuffer-local-map nil 'planloom--history)))))
  (when (and (use-region-p) buffer-file-name)
    (setq request (format "%s @%s:%d-%d" request (file-relative-name buffer-file-name (planloom--root))
                          (line-number-at-pos (region-beginning)) (line-number-at-pos (1- (region-end))))))
  (planloom--run "planloom.plan" (list request)))

(defun planloom--complete-reference ()
  "Complete the `@' reference before point in the minibuffer."
  (let* ((text (minibuffer-contents)) (begin (minibuffer-prompt-end))
         (items (plist-get (planloom--await planloom--open "planloom/reference/complete"
                                            `(:text ,text :offset ,(length text) :limit 50) 2)
                           :items)))
    (when (> (length items) 0)
      (list (+ begin (aref (plist-get (aref items 0) :replace) 0)) (point)
            (mapcar (lambda (each) (plist-get each :insertText)) items)))))

(defun planloom-completion-at-point ()
  "Complete an `@' reference, or a word of a plan's document."
  (when (and planloom--open (looking-back "@[^[:space:]]*\\|^ +- [^\n]*" (line-beginning-position)))
    (let* ((answer (planloom--await planloom--open "textDocument/completion"
                                    `(:textDocument ,(planloom--document) :position ,(planloom--position-of (point))) 2))
           (items (append (plist-get answer :items) nil))
           (begin (save-excursion (skip-chars-backward "^ \t\n:") (point))))
      (when items
        (list begin (point)
              (mapcar (lambda (each) (or (plist-get (plist-get each :textEdit) :newText) (plist-get each :label)))
                      items)
              :exclusive 'no)))))

(defun planloom-act ()
  "Choose what is done with the plan of this document, or with its step at point."
  (interactive)
  (unless planloom--open (user-error "This buffer shows no plan"))
  (let* ((here (planloom--position-of (point)))
         (found (planloom--await planloom--open "textDocument/codeAction"
                                 `(:textDocument ,(planloom--document) :range (:start ,here :end ,here)
                                   :context (:diagnostics []))
                                 10))
         (actions (mapcar (lambda (each) (cons (plist-get each :title) each)) found))
         (action (cdr (assoc (completing-read "Planloom: " actions nil t) actions)))
         (command (plist-get action :command)))
    (when (plist-get action :edit) (planloom--apply planloom--open (plist-get action :edit)))
    (when command
      (planloom--run (plist-get command :command) (append (plist-get command :arguments) nil)))))

(defun planloom-show ()
  "Show a plan and what became of it."
  (interactive)
  (planloom--run "planloom.showPlan" nil
                 (lambda (result)
                   (with-current-buffer (get-buffer-create "*Planloom plan*")
                     (let ((inhibit-read-only t)) (erase-buffer) (insert (plist-get result :text)))
                     (goto-char (point-min))
                     (special-mode)
                     (pop-to-buffer (current-buffer))))))

(defun planloom-pause () "Pause a plan." (interactive) (planloom--run "planloom.pause" nil))
(defun planloom-resume () "Resume a plan." (interactive) (planloom--run "planloom.resume" nil))
(defun planloom-cancel () "Cancel a plan." (interactive) (planloom--run "planloom.cancel" nil))
(defun planloom-undo () "Take back the edits of a plan." (interactive) (planloom--run "planloom.undo" nil))
(defun planloom-redo () "Make the edits of a plan again." (interactive) (planloom--run "planloom.redo" nil))

;;;; Documents of plans

(defun planloom--mark (uri diagnostics)
  "Show DIAGNOSTICS in the buffer of URI."
  (when-let ((buffer (and (string-prefix-p "file://" uri) (find-buffer-visiting (planloom--path uri)))))
    (with-current-buffer buffer
      (remove-overlays (point-min) (point-max) 'planloom t)
      (seq-doseq (each diagnostics)
        (let* ((range (plist-get each :range))
               (overlay (make-overlay (planloom--position (plist-get range :start))
                                      (planloom--position (plist-get range :end)))))
          (overlay-put overlay 'planloom t)
          (overlay-put overlay 'face (if (= (or (plist-get each :severity) 1) 1) 'error 'warning))
          (overlay-put overlay 'help-echo (plist-get each :message))
          (overlay-put overlay 'after-string
                       (propertize (concat "  ← " (plist-get each :message)) 'face 'shadow)))))))

(defvar planloom-plan-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'planloom-act)
    map))

;;;###autoload
(define-derived-mode planloom-plan-mode text-mode "Plan"
  "The document of a plan: changes that are saved become the plan, and \\[planloom-act] acts on it."
  (setq font-lock-defaults '((("^#.*$" . font-lock-keyword-face) ("^> .*$" . font-lock-comment-face)
                              ("^- \\[.\\]" . font-lock-builtin-face) ("\\^\\w+$" . font-lock-comment-face)
                              ("^  - \\([a-z ]+\\):" 1 font-lock-variable-name-face)) t)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.plan\\.md\\'" . planloom-plan-mode))
(add-hook 'find-file-hook #'planloom--open)

(defun planloom-status ()
  "What the plans of this folder do that are being written or run; nil if there is none."
  (when-let* ((server (planloom--server)) (parts (hash-table-values (planloom--server-progress server))))
    (concat " Planloom " (string-join parts " · "))))

(add-to-list 'global-mode-string '(:eval (planloom-status)) t)

(provide 'planloom)
;;; planloom.el ends here
