# Sets keepthread up on Windows, in PowerShell 5.1 or later: a virtual environment of its own, the hooks in the host's
# settings, then the main job once on a sample session. Run again, it upgrades.
#     powershell -ExecutionPolicy Bypass -File install.ps1
# Unverified: written from the documentation of Windows and Python, not yet run there.
[CmdletBinding()]
param()
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

function Stop-Install([string]$Message, [string]$Hint = '') {
    [Console]::Error.WriteLine("keepthread: $Message")
    if ($Hint) { [Console]::Error.WriteLine("  $Hint") }
    exit 1
}

# Runs a program and returns whether it ended with 0. Windows PowerShell makes an error of each line on stderr.
function Test-Run([string[]]$Command) {
    $first, $rest = $Command
    $before = $ErrorActionPreference
    $ErrorActionPreference = 'Continue'
    try {
        & $first @rest 2>&1 | Out-Null
        return $LASTEXITCODE -eq 0
    } catch {
        return $false
    } finally {
        $ErrorActionPreference = $before
    }
}

function Test-Modern([string[]]$Command) {
    return Test-Run ($Command + @('-c', 'import sys; raise SystemExit(sys.version_info < (3, 10))'))
}

# python.exe may be the store's stub, which says that Python was not found and ends with 9009. The launcher never is.
function Find-Python {
    $named = $env:KEEPTHREAD_PYTHON
    if ($named) {
        if (-not (Test-Modern @($named))) { Stop-Install "KEEPTHREAD_PYTHON is no Python 3.10 or later: $named" 'Name another, or unset it: one is looked for.' }
        return , @($named)
    }
    foreach ($candidate in @(@('py', '-3'), @('python'), @('python3'))) {
        if ((Get-Command $candidate[0] -CommandType Application -ErrorAction SilentlyContinue) -and (Test-Modern $candidate)) {
            return , $candidate
        }
    }
    Stop-Install 'Python 3.10 or later was not found' 'Install it from python.org, or set KEEPTHREAD_PYTHON to the path of one.'
}

function Get-ConfigFolder {
    $folder = $env:CLAUDE_CONFIG_DIR
    if (-not $folder) {
        if (-not $env:USERPROFILE) { Stop-Install 'There is no home folder' 'Set USERPROFILE or CLAUDE_CONFIG_DIR.' }
        $folder = Join-Path $env:USERPROFILE '.claude'
    }
    if ($folder -notmatch '^([A-Za-z]:[\\/]|\\\\)') {
        Stop-Install "CLAUDE_CONFIG_DIR is a relative path: $folder" 'Set it to an absolute path.'
    }
    return $folder
}

function New-Environment([string]$Folder) {
    $python = Join-Path $Folder 'Scripts\python.exe'
    if ((Test-Path -LiteralPath $python) -and (Test-Modern @($python)) -and (Test-Run @($python, '-m', 'pip', '--version'))) {
        return
    }
    # What is no virtual environment is somebody's folder.
    if (Test-Path -LiteralPath $Folder) {
        if (-not (Test-Path -LiteralPath (Join-Path $Folder 'pyvenv.cfg'))) {
            Stop-Install "$Folder is in the way: it is no virtual environment" 'Move it away.'
        }
        Remove-Item -LiteralPath $Folder -Recurse -Force
    }
    $interpreter = Find-Python
    if (-not (Test-Run ($interpreter + @('-m', 'venv', $Folder)))) {
        Stop-Install "$($interpreter -join ' ') cannot make virtual environments"
    }
}

function Invoke-Step([string]$Failure, [string[]]$Command) {
    $first, $rest = $Command
    & $first @rest
    if ($LASTEXITCODE -ne 0) { Stop-Install $Failure 'The lines above say why.' }
}

# Whatever its user has set for other work: everything goes into our own virtual environment, and comes from there.
foreach ($name in 'PYTHONHOME', 'PYTHONPATH', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT') {
    Remove-Item -LiteralPath "Env:$name" -ErrorAction SilentlyContinue
}
$env:PIP_USER = '0'

$venv = Join-Path (Get-ConfigFolder) 'keepthread\venv'
$python = Join-Path $venv 'Scripts\python.exe'
$program = Join-Path $venv 'Scripts\keepthread.exe'

Write-Output "1/3  Setting up $venv"
New-Environment $venv
Invoke-Step 'pip could not install keepthread' @($python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--upgrade', $PSScriptRoot)
Write-Output "2/3  Writing the hooks into the host's settings"
Invoke-Step 'the hooks were not written' @($program, 'install')
Write-Output '3/3  The main job on a sample session, with the embedded engine'
Invoke-Step 'the sample session failed' @($python, '-I', (Join-Path $PSScriptRoot 'templates\sample\run.py'))
Write-Output ''
Write-Output "Installed. Compaction in Claude Code now keeps the thread; check with: & '$($program -replace "'", "''")' doctor"
