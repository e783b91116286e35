# The dashboard: docker build -t slmopt . && docker run --rm -p 8501:8501 slmopt
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app
# Libraries change seldom, so they are a layer of their own.
COPY requirements.txt .
RUN pip install -r requirements.txt

COPY app.py ./
COPY .streamlit/config.toml .streamlit/config.toml
COPY pages pages
COPY presets presets
COPY slmopt slmopt
# Copied now, the running container needs to write nothing.
RUN python -c "from pages.ui.chart import place_library; place_library()" \
    && python -m compileall -q slmopt pages \
    && useradd --system --create-home slmopt

USER slmopt
EXPOSE 8501
# Under a base path the address below carries it, too.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; p = os.environ.get('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); r.urlopen('http://127.0.0.1:8501/' + (p + '/' if p else '') + '_stcore/health', timeout=4)"]
CMD ["streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true"]
