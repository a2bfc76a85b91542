"""The words of operations: a request is qualified by its topics, a step in words by the verbs that begin its tasks."""

from __future__ import annotations

import re

from planloom.domain.patterns import pattern
from planloom.intake.routing.words import any_of, listed

TOPICS = listed(
    """
    kubernetes, k8s, kubectl, helm, terraform, ansible, nginx, systemd, pipeline, pipelines, staging, production,
    rollback, container, containers, pulumi, jenkins, github actions, gitlab ci, ci, ci pipeline,
    continuous integration, infrastructure, cluster, load balancer, reverse proxy, ingress, prometheus, grafana,
    monitoring, prod, roll back, backup, backups, certificate, tls, dns, aws, azure, gcp, ec2, s3, lambda, cron,
    cronjob, hosting, devops, deploy, deploys, deployed, deploying, deployment, deployments, docker, dockerfile,
    docker compose, provision
    """
)
"""Words and phrases that make a request one about operations."""

_DEPLOYING = listed("deploy, release, publish, ship, roll out, go live")
_RUNNING = listed("run, execute, rerun, start, restart, launch, compile, commit, push, install, provision")

OPERATION = pattern(
    rf"(?:^|[.;,]\s{{0,4}}|\b(?:and|then)\s{{1,4}})(?:{any_of(_DEPLOYING + _RUNNING)}|build(?!\s+an?\b))\b",
    re.IGNORECASE,
)
"""In the text of a step: a task begins that runs, installs or deploys something. Who builds "a" thing makes it new."""

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
