;;; agent-shell.el --- Hermes in agent-shell  -*- lexical-binding: t; -*-

;; For the init file of Emacs, with the package agent-shell installed. It comes with a profile for
;; Hermes whose command is "hermes acp"; the first form names hermes-acp in its place. Start it with
;; M-x agent-shell-hermes-start-agent.

;;; Code:

(with-eval-after-load 'agent-shell-hermes
  (setq agent-shell-hermes-acp-command '("hermes-acp")))

;; Another set of keys and settings for this editor only:
;;
;; (setq agent-shell-hermes-environment '("HERMES_HOME=/home/me/.hermes-emacs"))

;; An agent-shell that is older than the profile:
;;
;; (add-to-list
;;  'agent-shell-agent-configs
;;  (agent-shell-make-agent-config
;;   :identifier 'hermes
;;   :mode-line-name "Hermes"
;;   :buffer-name "Hermes"
;;   :shell-prompt "Hermes> "
;;   :shell-prompt-regexp "Hermes> "
;;   :client-maker (lambda (buffer)
;;                   (acp-make-client :command "hermes-acp" :context-buffer buffer))))

;;; agent-shell.el ends here
