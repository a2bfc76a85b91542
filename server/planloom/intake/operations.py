"""The words of operations: what a request is qualified by, a step is given to Devo by, and a deployment is known by.

Each word stands once, in the group whose rules it shares.
"""

from __future__ import annotations

import re

from planloom.domain.patterns import pattern
from planloom.intake.words import any_of, listed

_PLATFORMS = listed("kubernetes, k8s, kubectl, helm, terraform, ansible, nginx, systemd")
_DELIVERY = listed("pipeline, pipelines, staging, production, rollback")
_TOPICS = listed(
    """
    container, containers, pulumi, jenkins, github actions, gitlab ci, ci, ci pipeline, continuous integration,
    infrastructure, cluster, load balancer, reverse proxy, ingress, prometheus, grafana, monitoring, prod, roll back,
    backup, backups, certificate, tls, dns, aws, azure, gcp, ec2, s3, lambda, cron, cronjob, hosting, devops,
    deploy, deploys, deployed, deploying, deployment, deployments, docker, dockerfile, docker compose, provision
    """
)
_STEMS = listed("deploy, docker, provision")
_PACKAGE_MANAGERS = listed("npm, pnpm, yarn, pip, cargo")
_RUNNING = listed(
    "run, execute, rerun, start, restart, launch, publish, release, build, compile, commit, push"
)
_DEPLOYING = listed("deploy, release, publish, ship, roll out, go live")

TOPICS = (*_PLATFORMS, *_DELIVERY, *_TOPICS)
"""Words and phrases that make a request one about operations."""

OPERATION = pattern(
    rf"\b(?:(?:{any_of(_STEMS)})\w*|install(?:s|ing)?|ci/cd|migrations?"
    rf"|{any_of(_PLATFORMS + _DELIVERY + _PACKAGE_MANAGERS)})\b"
    rf"|(?:^|[.;,]\s{{0,4}}|\b(?:and|then)\s{{1,4}})(?:{any_of(_RUNNING)})\b",
    re.IGNORECASE,
)
"""In the text of a step: it runs, installs or deploys something. A verb counts where a task begins."""

DEPLOYMENT = pattern(
    rf"(?:re-?)?(?:{any_of(_DEPLOYING)})(?:s|ing|ment)?\b|(?:trigger|start|run|perform|do)\s+"
    r"(?:a\s+|the\s+)?(?:\w+\s+)?(?:deploy|release|publish|rollout)",
    re.IGNORECASE,
)
"""At the beginning of a step's description: it deploys."""

DEPLOYING_COMMAND = pattern(
    r"\b(?:deploy|kubectl\s+(?:apply|rollout|set)|terraform\s+apply|helm\s+(?:upgrade|install)|(?:npm|yarn|pnpm|cargo|poetry)\s+publish"
    r"|twine\s+upload|docker\s+push|serverless\s+deploy|fly\s+deploy|vercel|netlify)\b",
    re.IGNORECASE,
)
"""In a command line: it deploys."""
